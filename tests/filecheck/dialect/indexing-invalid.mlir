// RUN: fuse-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// CHECK: 'fuse.strided_slice' op expects 1 number in end, got 2 ([1, 2])
func.func @lengths(%a: tensor<4xf32>) {
  %r = fuse.strided_slice %a, begin = [0], end = [1, 2] : (tensor<4xf32>)
  return
}

// -----

// CHECK: 'fuse.strided_slice' op expects strides other than 0, got [0]
func.func @stride_zero(%a: tensor<4xf32>) {
  %r = fuse.strided_slice %a, begin = [0], end = [1], strides = [0] : (tensor<4xf32>)
  return
}

// -----

// CHECK: 'fuse.strided_slice' op expects distinct axes, axis 0 is named twice
func.func @sliced_axis_twice(%a: tensor<4x4xf32>) {
  %r = fuse.strided_slice %a, begin = [0, 1], end = [1, 2], axes = [0, -2] : (tensor<4x4xf32>)
  return
}

// -----

// CHECK: expects result 0 of type tensor<4xf32>, got tensor<5xf32>
func.func @result_of_another_size(%a: tensor<8xf32>) {
  %r = fuse.strided_slice %a, begin = [0], end = [4] : (tensor<8xf32>) -> tensor<5xf32>
  return
}

// -----

// CHECK: 'fuse.take' op expects integers in 'indices', got f32
func.func @indices_of_floats(%a: tensor<4xf32>, %b: tensor<2xf32>) {
  %r = fuse.take %a, %b : (tensor<4xf32>, tensor<2xf32>)
  return
}

// -----

// CHECK: 'fuse.take' op expects mode to be 'clip' or 'wrap' or 'fast', got 'raise'
func.func @unknown_mode(%a: tensor<4xf32>, %b: tensor<2xi64>) {
  %r = fuse.take %a, %b, mode = "raise" : (tensor<4xf32>, tensor<2xi64>)
  return
}

// -----

// CHECK: 'fuse.take' op expects axes in [-1, 1) for rank 1, got 1
func.func @axis_out_of_range(%a: tensor<4xf32>, %b: tensor<2xi64>) {
  %r = fuse.take %a, %b, axis = 1 : (tensor<4xf32>, tensor<2xi64>)
  return
}

// -----

// CHECK: 'fuse.gather' op expects 'indices' of rank 2, got rank 1 (2)
func.func @ranks(%a: tensor<4x4xf32>, %b: tensor<2xi64>) {
  %r = fuse.gather %a, %b : (tensor<4x4xf32>, tensor<2xi64>)
  return
}

// -----

// CHECK: 'fuse.gather' op expects indices no larger than the operand off axis 0, got 9x5 and 4x4 (dimension 1: 5 vs 4)
func.func @indices_larger_than_the_operand(%a: tensor<4x4xf32>, %b: tensor<9x5xi64>) {
  %r = fuse.gather %a, %b : (tensor<4x4xf32>, tensor<9x5xi64>)
  return
}

// -----

// CHECK: 'fuse.gather_nd' op expects a last axis of 'indices' in [1, 2], got 3
func.func @too_many_coordinates(%a: tensor<4x4xf32>, %b: tensor<2x3xi64>) {
  %r = fuse.gather_nd %a, %b : (tensor<4x4xf32>, tensor<2x3xi64>)
  return
}

// -----

// CHECK: 'fuse.gather_nd' op expects a last axis of 'indices' in [1, 2], got ?
func.func @unknown_number_of_coordinates(%a: tensor<4x4xf32>, %b: tensor<2x?xi64>) {
  %r = fuse.gather_nd %a, %b : (tensor<4x4xf32>, tensor<2x?xi64>)
  return
}

// -----

// CHECK: 'fuse.gather_nd' op expects operands that agree, got 4 and 2 (dimension 0: 4 vs 2)
func.func @batch_dimensions(%a: tensor<4x4xf32>, %b: tensor<2x1xi64>) {
  %r = fuse.gather_nd %a, %b, batch_dims = 1 : (tensor<4x4xf32>, tensor<2x1xi64>)
  return
}

// -----

// CHECK: 'fuse.pad' op expects 'value' of rank 0, got rank 1 (1)
func.func @value_with_elements(%a: tensor<4xf32>, %b: tensor<1xf32>) {
  %r = fuse.pad %a, %b, low = [0], high = [0] : (tensor<4xf32>, tensor<1xf32>)
  return
}

// -----

// CHECK: 'fuse.pad' op expects widths that fit 4 elements on axis 0, got -3 and -2
func.func @more_cropped_than_there_is(%a: tensor<4xf32>, %b: tensor<f32>) {
  %r = fuse.pad %a, %b, low = [-3], high = [-2] : (tensor<4xf32>, tensor<f32>)
  return
}

// -----

// CHECK: 'fuse.pad' op expects mode to be 'constant' or 'edge' or 'reflect' or 'wrap', got 'mirror'
func.func @unknown_padding(%a: tensor<4xf32>, %b: tensor<f32>) {
  %r = fuse.pad %a, %b, low = [0], high = [0], mode = "mirror" : (tensor<4xf32>, tensor<f32>)
  return
}

// -----

// CHECK: 'fuse.resize2d' op expects floating-point elements, got i32
func.func @linear_integers(%a: tensor<1x1x4x4xi32>) {
  %r = fuse.resize2d %a, size = [2, 2], method = "linear" : (tensor<1x1x4x4xi32>)
  return
}

// -----

// CHECK: 'fuse.resize2d' op expects size of at least 1, got [0, 2]
func.func @size_zero(%a: tensor<1x1x4x4xf32>) {
  %r = fuse.resize2d %a, size = [0, 2] : (tensor<1x1x4x4xf32>)
  return
}

// -----

// CHECK: 'fuse.resize2d' op expects 2 positive numbers in scales, got [0.5, -1.0]
func.func @negative_scale(%a: tensor<1x1x4x4xf32>) {
  %r = fuse.resize2d %a, size = [2, 2], scales = [0.5, -1.0] : (tensor<1x1x4x4xf32>)
  return
}

// -----

// CHECK: 'fuse.resize2d' op expects nearest_mode to be 'round_prefer_floor' or 'round_prefer_ceil' or 'floor' or 'ceil', got 'nearest'
func.func @unknown_nearest_mode(%a: tensor<1x1x4x4xf32>) {
  %r = fuse.resize2d %a, size = [2, 2], nearest_mode = "nearest" : (tensor<1x1x4x4xf32>)
  return
}
