// RUN: fuse-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// CHECK: expects a result of 12 elements as in 2x6, got 15 in 3x5
func.func @element_count(%a: tensor<2x6xf32>) {
  %r = fuse.reshape %a : (tensor<2x6xf32>) -> tensor<3x5xf32>
  return
}

// -----

// CHECK: expects a result that 12 elements fill, got 5x?
func.func @no_size_for_the_unknown(%a: tensor<2x6xf32>) {
  %r = fuse.reshape %a : (tensor<2x6xf32>) -> tensor<5x?xf32>
  return
}

// -----

// CHECK: expects a result of f32, got f16
func.func @element_type(%a: tensor<2x6xf32>) {
  %r = fuse.reshape %a : (tensor<2x6xf32>) -> tensor<3x4xf16>
  return
}

// -----

// CHECK: expects every '?' of the result but the last behind equal leading dimensions, got 4x?x8 and ?x?x8
func.func @unknown_behind_another_shape(%a: tensor<4x?x8xf32>) {
  %r = fuse.reshape %a : (tensor<4x?x8xf32>) -> tensor<?x?x8xf32>
  return
}

// -----

// CHECK: 'fuse.transpose' op expects 2 numbers in permutation, got 1 ([0])
func.func @too_few_axes(%a: tensor<2x3xf32>) {
  %r = fuse.transpose %a, permutation = [0] : (tensor<2x3xf32>)
  return
}

// -----

// CHECK: 'fuse.transpose' op expects distinct axes, axis 0 is named twice
func.func @axis_twice(%a: tensor<2x3xf32>) {
  %r = fuse.transpose %a, permutation = [0, -2] : (tensor<2x3xf32>)
  return
}

// -----

// CHECK: expects result 0 of type tensor<3x2xf32>, got tensor<2x3xf32>
func.func @result_not_permuted(%a: tensor<2x3xf32>) {
  %r = fuse.transpose %a, permutation = [1, 0] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// CHECK: 'fuse.squeeze' op expects size 1 on squeezed axis 0, got 2
func.func @axis_not_of_size_one(%a: tensor<2x1xf32>) {
  %r = fuse.squeeze %a, axes = [0] : (tensor<2x1xf32>)
  return
}

// -----

// CHECK: 'fuse.squeeze' op expects named axes for a dynamic shape, got ?x1
func.func @which_axes_are_of_size_one(%a: tensor<?x1xf32>) {
  %r = fuse.squeeze %a, axes = [] : (tensor<?x1xf32>)
  return
}

// -----

// CHECK: 'fuse.reverse' op expects axes in [-2, 2) for rank 2, got 2
func.func @reverse(%a: tensor<2x1xf32>) {
  %r = fuse.reverse %a, axes = [2] : (tensor<2x1xf32>)
  return
}

// -----

// CHECK: 'fuse.batch_flatten' op expects 'input' of rank 1 or more, got rank 0 (scalar)
func.func @batch_flatten(%a: tensor<f32>) {
  %r = fuse.batch_flatten %a : (tensor<f32>)
  return
}

// -----

// CHECK: 'fuse.depth_to_space' op expects channels divisible by 4, got 6
func.func @channels_not_divisible(%a: tensor<1x6x2x2xf32>) {
  %r = fuse.depth_to_space %a, block_size = 2 : (tensor<1x6x2x2xf32>)
  return
}

// -----

// CHECK: 'fuse.depth_to_space' op expects mode to be 'DCR' or 'CRD', got 'RDC'
func.func @unknown_mode(%a: tensor<1x4x2x2xf32>) {
  %r = fuse.depth_to_space %a, block_size = 2, mode = "RDC" : (tensor<1x4x2x2xf32>)
  return
}

// -----

// CHECK: 'fuse.space_to_depth' op expects width divisible by 2, got 3
func.func @space_to_depth(%a: tensor<1x1x2x3xf32>) {
  %r = fuse.space_to_depth %a, block_size = 2 : (tensor<1x1x2x3xf32>)
  return
}

// -----

// CHECK: 'fuse.layout_transform' op expects layouts of the same axes, got 'NC' and 'NH'
func.func @other_axes(%a: tensor<1x2xf32>) {
  %r = fuse.layout_transform %a, src_layout = "NC", dst_layout = "NH" : (tensor<1x2xf32>)
  return
}

// -----

// CHECK: 'fuse.layout_transform' op expects axis 'C' divisible by 4, got 2
func.func @channels_not_divisible_by_the_block(%a: tensor<1x2xf32>) {
  %r = fuse.layout_transform %a, src_layout = "NC", dst_layout = "NC4c" : (tensor<1x2xf32>)
  return
}

// -----

// CHECK: 'fuse.layout_transform' op expects equal sizes of block 'c' of layout 'NC4c', got 4 and 3
func.func @other_block(%a: tensor<1x2x3xf32>) {
  %r = fuse.layout_transform %a, src_layout = "NC4c", dst_layout = "NC" : (tensor<1x2x3xf32>)
  return
}

// -----

// CHECK: 'fuse.layout_transform' op expects a layout such as 'NCHW' or 'NCHW4c', got 'N c'
func.func @no_layout(%a: tensor<1x2xf32>) {
  %r = fuse.layout_transform %a, src_layout = "NC", dst_layout = "N c" : (tensor<1x2xf32>)
  return
}

// -----

// CHECK: 'fuse.transpose' op expects property 'permutation'
func.func @property_missing(%a: tensor<2x3xf32>) {
  %r = fuse.transpose %a : (tensor<2x3xf32>)
  return
}

// -----

// CHECK: 'fuse.transpose' op expects a list of integers for property 'permutation', got array<f64: 1.500000e+00, 0.000000e+00>
func.func @property_of_another_form(%a: tensor<2x3xf32>) {
  %r = fuse.transpose %a, permutation = [1.5, 0.0] : (tensor<2x3xf32>)
  return
}
