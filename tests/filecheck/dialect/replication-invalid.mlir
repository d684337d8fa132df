// RUN: fuse-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// CHECK: expects a result of rank 2 or more, got 4
func.func @broadcast_to_lower_rank(%x: tensor<4x1xf32>) {
  %y = fuse.broadcast_to %x : (tensor<4x1xf32>) -> tensor<4xf32>
  return
}

// -----

// CHECK: expects broadcast-compatible shapes, got 4x1 and 3x8 (dimension 0: 4 vs 3)
func.func @broadcast_to_other_size(%x: tensor<4x1xf32>) {
  %y = fuse.broadcast_to %x : (tensor<4x1xf32>) -> tensor<3x8xf32>
  return
}

// -----

// CHECK: expects a shape that 4x8 broadcasts to, got 4x1 (dimension 1: 8 vs 1)
func.func @broadcast_to_size_one(%x: tensor<4x8xf32>) {
  %y = fuse.broadcast_to %x : (tensor<4x8xf32>) -> tensor<4x1xf32>
  return
}

// -----

// CHECK: expects a known size in dimension 1 of the result, got '?'
func.func @broadcast_to_unknown_size(%x: tensor<4x1xf32>) {
  %y = fuse.broadcast_to %x : (tensor<4x1xf32>) -> tensor<4x?xf32>
  return
}

// -----

// CHECK: expects a known size in dimension 0 of the result, got '?'
func.func @broadcast_to_unknown_front(%x: tensor<4xf32>) {
  %y = fuse.broadcast_to %x : (tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

// CHECK: expects axes in [-2, 2) for rank 2, got 2
func.func @expand_dims_axis(%x: tensor<4xf32>) {
  %y = fuse.expand_dims %x, axis = 2 : (tensor<4xf32>)
  return
}

// -----

// CHECK: property 'axis' expected in operation 'fuse.expand_dims'
func.func @expand_dims_without_axis(%x: tensor<4xf32>) {
  %y = fuse.expand_dims %x : (tensor<4xf32>) -> tensor<4x1xf32>
  return
}

// -----

// CHECK: expects num_newaxis of at most 64, got 1000000000
func.func @expand_dims_by_too_many(%x: tensor<4xf32>) {
  %y = fuse.expand_dims %x, axis = 0, num_newaxis = 1000000000 : (tensor<4xf32>)
  return
}

// -----

// CHECK: expects num_newaxis of at least 1, got 0
func.func @expand_dims_by_nothing(%x: tensor<4xf32>) {
  %y = fuse.expand_dims %x, axis = 0, num_newaxis = 0 : (tensor<4xf32>)
  return
}

// -----

// CHECK: expects repeats of at least 1, got 0
func.func @repeats(%x: tensor<4xf32>) {
  %y = fuse.repeat %x, repeats = 0 : (tensor<4xf32>)
  return
}

// -----

// CHECK: expects axes in [0, 0) for rank 0, got 0
func.func @repeat_scalar(%x: tensor<f32>) {
  %y = fuse.repeat %x, repeats = 2 : (tensor<f32>)
  return
}

// -----

// CHECK: expects reps of at least 0, got {{\[}}-1]
func.func @reps(%x: tensor<4xf32>) {
  %y = fuse.tile %x, reps = [-1] : (tensor<4xf32>)
  return
}

// -----

// CHECK: 'fuse.tile' op expects property 'reps'
func.func @reps_missing(%x: tensor<4xf32>) {
  %y = fuse.tile %x : (tensor<4xf32>)
  return
}
