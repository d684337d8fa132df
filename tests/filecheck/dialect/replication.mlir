// RUN: FUSE_ROUNDTRIP

// The result type says what to broadcast to.
// CHECK-LABEL: func.func @broadcast_to
func.func @broadcast_to(%x: tensor<4x1xf32>, %y: tensor<?x1xf32>) {
  // CHECK-NEXT: %wide = fuse.broadcast_to %x : (tensor<4x1xf32>) -> tensor<4x8xf32>
  %wide = fuse.broadcast_to %x : (tensor<4x1xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %deep = fuse.broadcast_to %x : (tensor<4x1xf32>) -> tensor<2x4x1xf32>
  %deep = fuse.broadcast_to %x : (tensor<4x1xf32>) -> tensor<2x4x1xf32>
  // CHECK-NEXT: %same = fuse.broadcast_to %x : tensor<4x1xf32>
  %same = fuse.broadcast_to %x : tensor<4x1xf32>
  // CHECK-NEXT: %kept = fuse.broadcast_to %y : (tensor<?x1xf32>) -> tensor<3x?x8xf32>
  %kept = fuse.broadcast_to %y : (tensor<?x1xf32>) -> tensor<3x?x8xf32>
  // CHECK-NEXT: %decided = fuse.broadcast_to %y : (tensor<?x1xf32>) -> tensor<4x1xf32>
  %decided = fuse.broadcast_to %y : (tensor<?x1xf32>) -> tensor<4x1xf32>
  return
}

// New axes go in front of an axis, counted from either end.
// CHECK-LABEL: func.func @expand_dims
func.func @expand_dims(%x: tensor<4x?xi8>) {
  // CHECK-NEXT: %front = fuse.expand_dims %x, axis = 0 : (tensor<4x?xi8>) -> tensor<1x4x?xi8>
  %front = fuse.expand_dims %x, axis = 0 : (tensor<4x?xi8>)
  // CHECK-NEXT: %back = fuse.expand_dims %x, axis = -1 : (tensor<4x?xi8>) -> tensor<4x?x1xi8>
  %back = fuse.expand_dims %x, axis = -1 : (tensor<4x?xi8>) -> tensor<4x?x1xi8>
  // CHECK-NEXT: %two = fuse.expand_dims %x, axis = 1, num_newaxis = 2 : (tensor<4x?xi8>) -> tensor<4x1x1x?xi8>
  %two = fuse.expand_dims %x, axis = 1, num_newaxis = 2 : (tensor<4x?xi8>)
  return
}

// Slices are repeated along an axis, the first by default.
// CHECK-LABEL: func.func @repeat
func.func @repeat(%x: tensor<4x?xf16>) {
  // CHECK-NEXT: %rows = fuse.repeat %x, repeats = 3 : (tensor<4x?xf16>) -> tensor<12x?xf16>
  %rows = fuse.repeat %x, repeats = 3 : (tensor<4x?xf16>)
  // CHECK-NEXT: %columns = fuse.repeat %x, repeats = 2, axis = -1 : tensor<4x?xf16>
  %columns = fuse.repeat %x, repeats = 2, axis = -1 : (tensor<4x?xf16>)
  // CHECK-NEXT: %once = fuse.repeat %x, repeats = 1, axis = 1 : tensor<4x?xf16>
  %once = fuse.repeat %x, repeats = 1, axis = 1 : tensor<4x?xf16>
  return
}

// Tiling adds axes when there are more counts than axes.
// CHECK-LABEL: func.func @tile
func.func @tile(%x: tensor<2x?xf32>) {
  // CHECK-NEXT: %both = fuse.tile %x, reps = [2, 1] : (tensor<2x?xf32>) -> tensor<4x?xf32>
  %both = fuse.tile %x, reps = [2, 1] : (tensor<2x?xf32>)
  // CHECK-NEXT: %last = fuse.tile %x, reps = [3] : tensor<2x?xf32>
  %last = fuse.tile %x, reps = [3] : (tensor<2x?xf32>)
  // CHECK-NEXT: %added = fuse.tile %x, reps = [5, 2, 1] : (tensor<2x?xf32>) -> tensor<5x4x?xf32>
  %added = fuse.tile %x, reps = [5, 2, 1] : (tensor<2x?xf32>)
  // CHECK-NEXT: %none = fuse.tile %x, reps = [] : tensor<2x?xf32>
  %none = fuse.tile %x, reps = [] : (tensor<2x?xf32>)
  return
}
