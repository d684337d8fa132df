// RUN: fuse-opt --drop-padded-taps --split-input-file %s | filecheck %s

// As far apart as the image is large: the taps in the middle alone meet it along the first axis.
// CHECK-LABEL: func.func @far
// CHECK:         %y = fuse.conv2d %x, %{{.*}}, padding = [0, 6, 0, 6], dilation = [16, 6] : (tensor<1x3x16x10xf32>, tensor<5x3x1x3xf32>) -> tensor<1x5x16x10xf32>
func.func @far(%x: tensor<1x3x16x10xf32>) -> tensor<1x5x16x10xf32> {
  %w = arith.constant dense<0.5> : tensor<5x3x3x3xf32>
  %y = fuse.conv2d %x, %w, padding = [16, 6, 16, 6], dilation = [16, 6] : (tensor<1x3x16x10xf32>, tensor<5x3x3x3xf32>)
  return %y : tensor<1x5x16x10xf32>
}

// -----

// Left alone: a kernel that is not known, a kind of its own, an open size, taps that meet the image somewhere.
// CHECK-LABEL: func.func @stay
// CHECK-COUNT-4: fuse.conv2d %{{.*}} tensor<5x3x3x3xf32>
// CHECK-NOT:     tensor<5x3x1x1xf32>
// CHECK:         return
func.func @stay(%x: tensor<1x3x8x8xf32>, %o: tensor<1x3x?x8xf32>, %v: tensor<5x3x3x3xf32>)
    -> (tensor<1x5x8x8xf32>, tensor<1x5x8x8xf32>, tensor<1x5x?x8xf32>, tensor<1x5x8x8xf32>) {
  %w = arith.constant dense<0.5> : tensor<5x3x3x3xf32>
  %a = fuse.conv2d %x, %v, padding = [8, 8, 8, 8], dilation = [8, 8] : (tensor<1x3x8x8xf32>, tensor<5x3x3x3xf32>)
  %b = fuse.conv2d %x, %w, padding = [8, 8, 8, 8], dilation = [8, 8] {fuse.pattern_kind = #fuse.pattern_kind<opaque>} : (tensor<1x3x8x8xf32>, tensor<5x3x3x3xf32>)
  %c = fuse.conv2d %o, %w, padding = [8, 8, 8, 8], dilation = [8, 8] : (tensor<1x3x?x8xf32>, tensor<5x3x3x3xf32>)
  %d = fuse.conv2d %x, %w, padding = [7, 7, 7, 7], dilation = [7, 7] : (tensor<1x3x8x8xf32>, tensor<5x3x3x3xf32>)
  return %a, %b, %c, %d : tensor<1x5x8x8xf32>, tensor<1x5x8x8xf32>, tensor<1x5x?x8xf32>, tensor<1x5x8x8xf32>
}

// -----

// Taps that meet the image in 2 of 14 windows of an axis are convolutions of these, between zeros.
// CHECK-LABEL:   func.func @some
// CHECK:         %0 = fuse.strided_slice %x, begin = [0], end = [2], axes = [2]
// CHECK-COUNT-4: fuse.conv2d {{.*}} -> tensor<1x256x2x2xf32>
// CHECK:         fuse.conv2d {{.*}} tensor<256x256x1x1xf32>) -> tensor<1x256x14x14xf32>
// CHECK:         %y = fuse.add
func.func @some(%x: tensor<1x256x14x14xf32>) -> tensor<1x256x14x14xf32> {
  %w = arith.constant dense<0.5> : tensor<256x256x3x3xf32>
  %y = fuse.conv2d %x, %w, padding = [12, 12, 12, 12], dilation = [12, 12] : (tensor<1x256x14x14xf32>, tensor<256x256x3x3xf32>)
  return %y : tensor<1x256x14x14xf32>
}
