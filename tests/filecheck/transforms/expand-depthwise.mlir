// RUN: fuse-opt --expand-depthwise --split-input-file %s | filecheck %s

// Three results for each channel: every channel stands three times, and every result has its own.
// CHECK-LABEL: func.func @channels_first
// CHECK-NEXT:    %[[X:.*]] = fuse.repeat %x, repeats = 3, axis = 1 : {{.*}} -> tensor<1x6x5x5xf32>
// CHECK-NEXT:    %y = fuse.conv2d %[[X]], %w, padding = [1, 1, 1, 1], groups = 6
// CHECK-NEXT:    return %y
func.func @channels_first(%x: tensor<1x2x5x5xf32>, %w: tensor<6x1x3x3xf32>) -> tensor<1x6x5x5xf32> {
  %y = fuse.conv2d %x, %w, padding = [1, 1, 1, 1], groups = 2 : (tensor<1x2x5x5xf32>, tensor<6x1x3x3xf32>) -> tensor<1x6x5x5xf32>
  return %y : tensor<1x6x5x5xf32>
}

// -----

// CHECK-LABEL: func.func @channels_last
// CHECK-NEXT:    %[[X:.*]] = fuse.repeat %x, repeats = 2, axis = 2 : {{.*}} -> tensor<?x5x8xf32>
// CHECK-NEXT:    %y = fuse.conv1d %[[X]], %w, groups = 8, data_layout = "NWC"
func.func @channels_last(%x: tensor<?x5x4xf32>, %w: tensor<8x1x3xf32>) -> tensor<?x3x8xf32> {
  %y = fuse.conv1d %x, %w, groups = 4, data_layout = "NWC" : (tensor<?x5x4xf32>, tensor<8x1x3xf32>) -> tensor<?x3x8xf32>
  return %y : tensor<?x3x8xf32>
}

// -----

// Left alone: one result for each channel, several channels in a group, one channel in all, a kind of its own.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     fuse.repeat
// CHECK:         return
func.func @others(%x: tensor<1x4x5x5xf32>, %z: tensor<1x1x5x5xf32>, %a: tensor<4x1x3x3xf32>, %b: tensor<8x2x3x3xf32>, %c: tensor<8x1x3x3xf32>) -> (tensor<1x4x3x3xf32>, tensor<1x8x3x3xf32>, tensor<1x8x3x3xf32>, tensor<1x8x3x3xf32>) {
  %p = fuse.conv2d %x, %a, groups = 4 : (tensor<1x4x5x5xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x3x3xf32>
  %q = fuse.conv2d %x, %b, groups = 2 : (tensor<1x4x5x5xf32>, tensor<8x2x3x3xf32>) -> tensor<1x8x3x3xf32>
  %r = fuse.conv2d %z, %c : (tensor<1x1x5x5xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x3x3xf32>
  %s = fuse.conv2d %x, %c, groups = 4 {fuse.pattern_kind = #fuse.pattern_kind<opaque>} : (tensor<1x4x5x5xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x3x3xf32>
  return %p, %q, %r, %s : tensor<1x4x3x3xf32>, tensor<1x8x3x3xf32>, tensor<1x8x3x3xf32>, tensor<1x8x3x3xf32>
}
