// RUN: fuse-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// CHECK: 'fuse.dyn_reshape' op expects 'shape' of a known number of elements, got tensor<?xi64>
func.func @unknown_rank(%x: tensor<4xf32>, %s: tensor<?xi64>) {
  %0 = fuse.dyn_reshape %x, %s : (tensor<4xf32>, tensor<?xi64>)
  return
}

// -----

// CHECK: 'fuse.dyn_full' op expects 'shape' of rank 1, got rank 2 (1x2)
func.func @shape_of_two_axes(%x: tensor<f32>, %s: tensor<1x2xi64>) {
  %0 = fuse.dyn_full %x, %s : (tensor<f32>, tensor<1x2xi64>)
  return
}

// -----

// CHECK: 'fuse.dyn_tile' op expects integers in 'reps', got f32
func.func @real_shape(%x: tensor<4xf32>, %s: tensor<1xf32>) {
  %0 = fuse.dyn_tile %x, %s : (tensor<4xf32>, tensor<1xf32>)
  return
}

// -----

// CHECK: 'fuse.dyn_broadcast_to' op expects 'shape' of at most 64 numbers, one for each axis, got tensor<9223372036854775807xi64>
func.func @more_axes_than_any_array_has(%x: tensor<4xf32>, %s: tensor<9223372036854775807xi64>) {
  %0 = fuse.dyn_broadcast_to %x, %s : (tensor<4xf32>, tensor<9223372036854775807xi64>)
  return
}

// -----

// CHECK: expects result 0 of type tensor<?x4xf32>, got tensor<?x3xf32>
func.func @result_that_cannot_be(%x: tensor<?x4xf32>, %s: tensor<2xi64>) {
  %0 = fuse.dyn_broadcast_to %x, %s : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x3xf32>
  return
}

// -----

// CHECK: 'fuse.dyn_strided_slice' op expects as many begins, ends and strides as axes, got [1, 2, 1] for 1
func.func @lists_of_two_lengths(%x: tensor<4x4xf32>, %s: tensor<1xi64>, %e: tensor<2xi64>) {
  %0 = fuse.dyn_strided_slice %x, %s, %e, %s : (tensor<4x4xf32>, tensor<1xi64>, tensor<2xi64>, tensor<1xi64>)
  return
}

// -----

// CHECK: 'fuse.dyn_strided_slice' op expects axes in [-1, 1) for rank 1, got 1
func.func @axis_out_of_range(%x: tensor<4xf32>, %s: tensor<1xi64>) {
  %0 = fuse.dyn_strided_slice %x, %s, %s, %s, axes = [1] : (tensor<4xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>)
  return
}

// -----

// CHECK: 'fuse.dyn_pad' op expects 1 numbers in 'high', got 2
func.func @widths_of_another_rank(%x: tensor<4xf32>, %v: tensor<f32>, %s: tensor<1xi64>, %e: tensor<2xi64>) {
  %0 = fuse.dyn_pad %x, %v, %s, %e : (tensor<4xf32>, tensor<f32>, tensor<1xi64>, tensor<2xi64>)
  return
}

// -----

// CHECK: 'fuse.dyn_arange' op expects 'stop' of rank 0, got rank 1 (1)
func.func @list_as_bound(%n: tensor<i64>, %s: tensor<1xi64>) {
  %0 = fuse.dyn_arange %n, %s, %n : (tensor<i64>, tensor<1xi64>, tensor<i64>)
  return
}

// -----

// CHECK: 'fuse.dyn_resize2d' op expects 2 numbers in 'size', got 4
func.func @sizes_of_all_axes(%x: tensor<1x3x8x8xf32>, %s: tensor<4xi64>) {
  %0 = fuse.dyn_resize2d %x, %s : (tensor<1x3x8x8xf32>, tensor<4xi64>)
  return
}

// -----

// CHECK: 'fuse.dyn_topk' op expects 'k' of rank 0, got rank 1 (1)
func.func @list_of_counts(%x: tensor<4xf32>, %k: tensor<1xi64>) {
  %0, %1 = fuse.dyn_topk %x, %k : (tensor<4xf32>, tensor<1xi64>)
  return
}

// -----

// CHECK: 'fuse.dyn_one_hot' op expects integers in 'depth', got f32
func.func @real_depth(%i: tensor<4xi64>, %a: tensor<f32>) {
  %0 = fuse.dyn_one_hot %i, %a, %a, %a : (tensor<4xi64>, tensor<f32>, tensor<f32>, tensor<f32>)
  return
}
