// RUN: fuse-opt --expand-transposed-convolutions --split-input-file %s | filecheck %s

// Even phases: one convolution with four times the channels, whose pixels are spread; one row and column is cropped.
// CHECK-LABEL: func.func @even
// CHECK-COUNT-4: fuse.strided_slice %w
// CHECK:         %[[K:.*]] = fuse.concatenate {{.*}} : {{.*}} -> tensor<20x3x2x2xf32>
// CHECK-NEXT:    %[[C:.*]] = fuse.conv2d %x, %[[K]], padding = [1, 1, 1, 1] : {{.*}} -> tensor<1x20x33x33xf32>
// CHECK-NEXT:    %[[D:.*]] = fuse.depth_to_space %[[C]], block_size = 2 : (tensor<1x20x33x33xf32>) -> tensor<1x5x66x66xf32>
// CHECK-NEXT:    %y = fuse.strided_slice %[[D]], begin = [1, 1], end = [65, 65], axes = [2, 3]
// CHECK-NEXT:    return %y : tensor<1x5x64x64xf32>
func.func @even(%x: tensor<1x3x32x32xf32>) -> tensor<1x5x64x64xf32> {
  %w = arith.constant dense<0.5> : tensor<3x5x4x4xf32>
  %y = fuse.conv2d_transpose %x, %w, strides = [2, 2], padding = [1, 1, 1, 1] : (tensor<1x3x32x32xf32>, tensor<3x5x4x4xf32>)
  return %y : tensor<1x5x64x64xf32>
}

// -----

// A small image: each phase is a convolution of its own, and nothing is cropped.
// CHECK-LABEL: func.func @small
// CHECK:         fuse.conv2d {{.*}} padding = [1, 1, 0, 0] : {{.*}} -> tensor<1x9x8x8xf32>
// CHECK:         fuse.conv2d {{.*}} padding = [1, 0, 0, 1] : {{.*}} -> tensor<1x9x8x8xf32>
// CHECK:         fuse.conv2d {{.*}} padding = [0, 1, 1, 0] : {{.*}} -> tensor<1x9x8x8xf32>
// CHECK:         fuse.conv2d {{.*}} padding = [0, 0, 1, 1] : {{.*}} -> tensor<1x9x8x8xf32>
// CHECK-NEXT:    %[[C:.*]] = fuse.concatenate {{.*}}, axis = 1
// CHECK-NEXT:    %y = fuse.depth_to_space %[[C]], block_size = 2
// CHECK-NEXT:    return %y
func.func @small(%x: tensor<1x3x8x8xf32>) -> tensor<1x9x16x16xf32> {
  %w = arith.constant dense<0.5> : tensor<3x9x4x4xf32>
  %y = fuse.conv2d_transpose %x, %w, strides = [2, 2], padding = [1, 1, 1, 1] : (tensor<1x3x8x8xf32>, tensor<3x9x4x4xf32>)
  return %y : tensor<1x9x16x16xf32>
}

// -----

// Three taps make phases of two and of one: four convolutions, without a product with zero.
// CHECK-LABEL: func.func @uneven
// CHECK:         -> tensor<9x3x1x1xf32>
// CHECK:         -> tensor<9x3x1x2xf32>
// CHECK:         -> tensor<9x3x2x1xf32>
// CHECK:         -> tensor<9x3x2x2xf32>
// CHECK-COUNT-4: fuse.conv2d
// CHECK-NOT:     fuse.conv2d
// CHECK:         fuse.concatenate {{.*}} axis = 1
// CHECK-NEXT:    fuse.depth_to_space
func.func @uneven(%x: tensor<1x3x8x8xf32>) -> tensor<1x9x16x16xf32> {
  %w = arith.constant dense<0.5> : tensor<3x9x3x3xf32>
  %y = fuse.conv2d_transpose %x, %w, strides = [2, 2], padding = [1, 1, 1, 1], output_padding = [1, 1] : (tensor<1x3x8x8xf32>, tensor<3x9x3x3xf32>)
  return %y : tensor<1x9x16x16xf32>
}

// -----

// Few output channels fill no vector: where each phase would be a convolution, the op is a product and a sum of blocks.
// CHECK-LABEL: func.func @narrow
// CHECK:         fuse.batch_matmul
// CHECK:         fuse.col2im {{.*}} block_shape = [3, 3], strides = [2, 2]
func.func @narrow(%x: tensor<1x3x8x8xf32>) -> tensor<1x5x16x16xf32> {
  %w = arith.constant dense<0.5> : tensor<3x5x3x3xf32>
  %y = fuse.conv2d_transpose %x, %w, strides = [2, 2], padding = [1, 1, 1, 1], output_padding = [1, 1] : (tensor<1x3x8x8xf32>, tensor<3x5x3x3xf32>)
  return %y : tensor<1x5x16x16xf32>
}

// -----

// Along one axis, with the channels last, phases lie where they belong.
// CHECK-LABEL: func.func @one_axis
// CHECK:         %[[C:.*]] = fuse.conv2d {{.*}} -> tensor<1x10x1x8xf32>
// CHECK-NEXT:    fuse.transpose %[[C]], permutation = [0, 2, 3, 1]
// CHECK-NEXT:    fuse.reshape {{.*}} -> tensor<1x1x8x1x2x5xf32>
// CHECK-NEXT:    fuse.reshape {{.*}} -> tensor<1x1x16x5xf32>
// CHECK-NEXT:    %y = fuse.transpose {{.*}} permutation = [0, 3, 1, 2]
func.func @one_axis(%x: tensor<1x3x1x8xf32>, %w: tensor<3x5x1x2xf32>) -> tensor<1x5x1x16xf32> {
  %y = fuse.conv2d_transpose %x, %w, strides = [1, 2] : (tensor<1x3x1x8xf32>, tensor<3x5x1x2xf32>)
  return %y : tensor<1x5x1x16xf32>
}

// -----

// Sums of blocks: a stride beyond the kernel, a dilated one with a stride, a kernel that may have infinities, which a zero
// of the padding would make nan; an image of open size is a convolution. Left alone: a kind of its own, a finished function.
// CHECK-LABEL: func.func @stay
// CHECK:         fuse.batch_matmul %{{.*}}, %{{.*}}, transpose_a = true : (tensor<1x1x3x5xf32>, tensor<1x1x3x64xf32>)
// CHECK:         fuse.col2im {{.*}} block_shape = [1, 1], strides = [2, 2]
// CHECK:         fuse.col2im {{.*}} block_shape = [3, 3], strides = [2, 2], padding = [0, 0, 0, 0], dilation = [2, 2]
// CHECK:         fuse.conv2d %o
// CHECK:         fuse.conv2d_transpose
// CHECK:         fuse.col2im
// CHECK-LABEL: func.func @primitive
// CHECK:         fuse.conv2d_transpose
func.func @stay(%x: tensor<1x3x8x8xf32>, %o: tensor<1x3x?x8xf32>, %v: tensor<3x5x3x3xf32>)
    -> (tensor<1x5x15x15xf32>, tensor<1x5x19x19xf32>, tensor<1x5x?x17xf32>, tensor<1x5x17x17xf32>, tensor<1x5x17x17xf32>) {
  %one = arith.constant dense<0.5> : tensor<3x5x1x1xf32>
  %w = arith.constant dense<0.5> : tensor<3x5x3x3xf32>
  %a = fuse.conv2d_transpose %x, %one, strides = [2, 2] : (tensor<1x3x8x8xf32>, tensor<3x5x1x1xf32>)
  %b = fuse.conv2d_transpose %x, %w, strides = [2, 2], dilation = [2, 2] : (tensor<1x3x8x8xf32>, tensor<3x5x3x3xf32>)
  %c = fuse.conv2d_transpose %o, %w, strides = [2, 2] : (tensor<1x3x?x8xf32>, tensor<3x5x3x3xf32>)
  %d = fuse.conv2d_transpose %x, %w, strides = [2, 2] {fuse.pattern_kind = #fuse.pattern_kind<opaque>} : (tensor<1x3x8x8xf32>, tensor<3x5x3x3xf32>)
  %e = fuse.conv2d_transpose %x, %v, strides = [2, 2] : (tensor<1x3x8x8xf32>, tensor<3x5x3x3xf32>)
  return %a, %b, %c, %d, %e
    : tensor<1x5x15x15xf32>, tensor<1x5x19x19xf32>, tensor<1x5x?x17xf32>, tensor<1x5x17x17xf32>, tensor<1x5x17x17xf32>
}
func.func @primitive(%x: tensor<1x3x8x8xf32>, %w: tensor<3x5x3x3xf32>) -> tensor<1x5x17x17xf32> attributes {primitive} {
  %y = fuse.conv2d_transpose %x, %w, strides = [2, 2] : (tensor<1x3x8x8xf32>, tensor<3x5x3x3xf32>)
  return %y : tensor<1x5x17x17xf32>
}
// CHECK-LABEL: func.func @open_kernel
// CHECK-NEXT:    fuse.conv2d_transpose
func.func @open_kernel(%x: tensor<1x4x1x1xf32>, %w: tensor<?x1x1x1xf32>) -> tensor<1x1x1x1xf32> {
  %y = fuse.conv2d_transpose %x, %w : (tensor<1x4x1x1xf32>, tensor<?x1x1x1xf32>)
  return %y : tensor<1x1x1x1xf32>
}
