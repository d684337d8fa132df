// RUN: fuse-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// CHECK: 'fuse.conv2d' op expects equal sizes of input channels of a group and of 'weight', got 3 and 2
func.func @kernel_channels(%a: tensor<1x3x8x8xf32>, %b: tensor<4x2x3x3xf32>) {
  %r = fuse.conv2d %a, %b : (tensor<1x3x8x8xf32>, tensor<4x2x3x3xf32>)
  return
}

// -----

// CHECK: 'fuse.conv2d' op expects input channels divisible by 2, got 3
func.func @channels_not_divisible(%a: tensor<1x3x8x8xf32>, %b: tensor<4x3x3x3xf32>) {
  %r = fuse.conv2d %a, %b, groups = 2 : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>)
  return
}

// -----

// CHECK: 'fuse.conv2d' op expects output channels divisible by 2, got 3
func.func @outputs_not_divisible(%a: tensor<1x4x8x8xf32>, %b: tensor<3x2x3x3xf32>) {
  %r = fuse.conv2d %a, %b, groups = 2 : (tensor<1x4x8x8xf32>, tensor<3x2x3x3xf32>)
  return
}

// -----

// CHECK: 'fuse.conv2d' op expects 'input' of rank 4, got rank 3 (1x3x8)
func.func @rank(%a: tensor<1x3x8xf32>, %b: tensor<4x3x3x3xf32>) {
  %r = fuse.conv2d %a, %b : (tensor<1x3x8xf32>, tensor<4x3x3x3xf32>)
  return
}

// -----

// CHECK: 'fuse.conv2d' op expects operands of one element type, got f32 and f16
func.func @element_types(%a: tensor<1x3x8x8xf32>, %b: tensor<4x3x3x3xf16>) {
  %r = fuse.conv2d %a, %b : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf16>)
  return
}

// -----

// CHECK: 'fuse.conv2d' op expects windows that fit, got a window of 3 on 2 elements with padding (spatial axis 0)
func.func @window_too_large(%a: tensor<1x3x2x8xf32>, %b: tensor<4x3x3x3xf32>) {
  %r = fuse.conv2d %a, %b : (tensor<1x3x2x8xf32>, tensor<4x3x3x3xf32>)
  return
}

// -----

// CHECK: 'fuse.conv2d' op expects 2 numbers in strides, got 1 ([1])
func.func @too_few_strides(%a: tensor<1x3x8x8xf32>, %b: tensor<4x3x3x3xf32>) {
  %r = fuse.conv2d %a, %b, strides = [1] : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>)
  return
}

// -----

// CHECK: 'fuse.conv2d' op expects strides of at least 1, got [0, 1]
func.func @stride_zero(%a: tensor<1x3x8x8xf32>, %b: tensor<4x3x3x3xf32>) {
  %r = fuse.conv2d %a, %b, strides = [0, 1] : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>)
  return
}

// -----

// CHECK: 'fuse.conv2d' op expects 4 numbers in padding, got 2 ([1, 1])
func.func @too_few_paddings(%a: tensor<1x3x8x8xf32>, %b: tensor<4x3x3x3xf32>) {
  %r = fuse.conv2d %a, %b, padding = [1, 1] : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>)
  return
}

// -----

// CHECK: 'fuse.conv2d' op expects padding of at least 0, got [0, 0, 0, -1]
func.func @negative_padding(%a: tensor<1x3x8x8xf32>, %b: tensor<4x3x3x3xf32>) {
  %r = fuse.conv2d %a, %b, padding = [0, 0, 0, -1] : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>)
  return
}

// -----

// CHECK: 'fuse.conv2d' op expects dilation of at least 1, got [1, 0]
func.func @dilation_zero(%a: tensor<1x3x8x8xf32>, %b: tensor<4x3x3x3xf32>) {
  %r = fuse.conv2d %a, %b, dilation = [1, 0] : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>)
  return
}

// -----

// CHECK: 'fuse.conv2d' op expects data_layout to be 'NCHW' or 'NHWC', got 'NCWH'
func.func @unknown_layout(%a: tensor<1x3x8x8xf32>, %b: tensor<4x3x3x3xf32>) {
  %r = fuse.conv2d %a, %b, data_layout = "NCWH" : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>)
  return
}

// -----

// CHECK: 'fuse.conv2d' op expects kernel_layout to be 'OIHW' or 'HWIO' or 'OHWI', got 'IOHW'
func.func @unknown_kernel_layout(%a: tensor<1x3x8x8xf32>, %b: tensor<4x3x3x3xf32>) {
  %r = fuse.conv2d %a, %b, kernel_layout = "IOHW" : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>)
  return
}

// -----

// CHECK: expects result 0 of type tensor<1x4x6x6xf32>, got tensor<1x4x8x8xf32>
func.func @result_of_another_size(%a: tensor<1x3x8x8xf32>, %b: tensor<4x3x3x3xf32>) {
  %r = fuse.conv2d %a, %b : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>
  return
}

// -----

// CHECK: 'fuse.conv1d' op expects 'input' of rank 3, got rank 4 (1x3x8x8)
func.func @conv1d(%a: tensor<1x3x8x8xf32>, %b: tensor<4x3x3xf32>) {
  %r = fuse.conv1d %a, %b : (tensor<1x3x8x8xf32>, tensor<4x3x3xf32>)
  return
}

// -----

// CHECK: 'fuse.conv3d' op expects windows that fit, got a window of 9 on 8 elements with padding (spatial axis 2)
func.func @conv3d(%a: tensor<1x3x8x8x8xf32>, %b: tensor<4x3x3x3x9xf32>) {
  %r = fuse.conv3d %a, %b : (tensor<1x3x8x8x8xf32>, tensor<4x3x3x3x9xf32>)
  return
}

// -----

// CHECK: 'fuse.conv2d_transpose' op expects equal sizes of input channels and channels of 'weight', got 3 and 4
func.func @transposed_kernel_channels(%a: tensor<1x3x8x8xf32>, %b: tensor<4x3x3x3xf32>) {
  %r = fuse.conv2d_transpose %a, %b : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>)
  return
}

// -----

// CHECK: 'fuse.conv2d_transpose' op expects padding of at most 2 in all, got 3 (spatial axis 0)
func.func @padding_beyond_the_result(%a: tensor<1x1x1x1xf32>, %b: tensor<1x1x2x2xf32>) {
  %r = fuse.conv2d_transpose %a, %b, padding = [2, 0, 1, 0] : (tensor<1x1x1x1xf32>, tensor<1x1x2x2xf32>)
  return
}

// -----

// CHECK: 'fuse.conv2d_transpose' op expects 2 numbers in output_padding, got 1 ([1])
func.func @too_few_output_paddings(%a: tensor<1x1x1x1xf32>, %b: tensor<1x1x2x2xf32>) {
  %r = fuse.conv2d_transpose %a, %b, output_padding = [1] : (tensor<1x1x1x1xf32>, tensor<1x1x2x2xf32>)
  return
}

// -----

// CHECK: 'fuse.conv2d' op expects out_dtype = "i32" with pad_value, got pad_value = 3
func.func @pad_value_of_floats(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  %r = fuse.conv2d %x, %w, pad_value = 3 : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>)
  return
}

// -----

// CHECK: 'fuse.conv2d' op expects pad_value from 0 to 255, got -1
func.func @pad_value_out_of_range(%x: tensor<1x3x8x8xui8>, %w: tensor<4x3x3x3xi8>) {
  %r = fuse.conv2d %x, %w, pad_value = -1, out_dtype = "i32" : (tensor<1x3x8x8xui8>, tensor<4x3x3x3xi8>)
  return
}
