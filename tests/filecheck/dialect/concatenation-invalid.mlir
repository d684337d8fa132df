// RUN: fuse-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// CHECK: 'fuse.concatenate' op expects operands that agree, got 2x3 and 2x4 (dimension 1: 3 vs 4)
func.func @sizes_off_the_axis(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>) {
  %r = fuse.concatenate %a, %b : (tensor<2x3xf32>, tensor<2x4xf32>)
  return
}

// -----

// CHECK: 'fuse.concatenate' op expects operands of one rank, got 2x3 and 6
func.func @ranks(%a: tensor<2x3xf32>, %b: tensor<6xf32>) {
  %r = fuse.concatenate %a, %b : (tensor<2x3xf32>, tensor<6xf32>)
  return
}

// -----

// CHECK: 'fuse.concatenate' op expects operands of one element type, got f32 and i32
func.func @element_types(%a: tensor<2xf32>, %b: tensor<2xi32>) {
  %r = fuse.concatenate %a, %b : (tensor<2xf32>, tensor<2xi32>)
  return
}

// -----

// CHECK: expects result 0 of type tensor<5xf32>, got tensor<4xf32>
func.func @result_not_the_sum(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  %r = fuse.concatenate %a, %b : (tensor<2xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

// CHECK: 'fuse.concatenate' op expects axes in [-1, 1) for rank 1, got 1
func.func @axis_out_of_range(%a: tensor<2xf32>) {
  %r = fuse.concatenate %a, axis = 1 : (tensor<2xf32>)
  return
}

// -----

// CHECK: 'fuse.stack' op expects operands that agree, got 2x3 and 2x4 (dimension 1: 3 vs 4)
func.func @shapes(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>) {
  %r = fuse.stack %a, %b : (tensor<2x3xf32>, tensor<2x4xf32>)
  return
}

// -----

// CHECK: 'fuse.stack' op expects axes in [-3, 3) for rank 3, got 3
func.func @stack_axis_out_of_range(%a: tensor<2x3xf32>) {
  %r = fuse.stack %a, axis = 3 : (tensor<2x3xf32>)
  return
}

// -----

// CHECK: 'fuse.split' op expects sizes that add up to 4, got [2, 3]
func.func @sizes_do_not_add_up(%a: tensor<4xf32>) {
  %r, %s = fuse.split %a, sizes = [2, 3] : (tensor<4xf32>)
  return
}

// -----

// CHECK: 'fuse.split' op expects sizes of 0 or more, got []
func.func @no_sizes(%a: tensor<4xf32>) {
  %r = fuse.split %a, sizes = [] : (tensor<4xf32>)
  return
}

// -----

// CHECK: expects 2 results, got 1
func.func @too_few_results(%a: tensor<4xf32>) {
  %r = fuse.split %a, sizes = [1, 3] : (tensor<4xf32>) -> tensor<4xf32>
  return
}
