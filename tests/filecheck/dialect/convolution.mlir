// RUN: FUSE_ROUNDTRIP

// Defaults are not printed.
// CHECK-LABEL: func.func @convolutions_in_one_two_and_three_dimensions
func.func @convolutions_in_one_two_and_three_dimensions(%a: tensor<1x4x8xf32>, %u: tensor<6x4x3xf32>, %b: tensor<?x3x8x?xf32>, %v: tensor<4x3x3x3xf32>, %c: tensor<1x1x4x4x4xbf16>, %w: tensor<2x1x2x2x2xbf16>) {
  // CHECK: fuse.conv1d %a, %u : (tensor<1x4x8xf32>, tensor<6x4x3xf32>) -> tensor<1x6x6xf32>
  %0 = fuse.conv1d %a, %u : (tensor<1x4x8xf32>, tensor<6x4x3xf32>)
  // CHECK: fuse.conv2d %b, %v : (tensor<?x3x8x?xf32>, tensor<4x3x3x3xf32>) -> tensor<?x4x6x?xf32>
  %1 = fuse.conv2d %b, %v, strides = [1, 1] : (tensor<?x3x8x?xf32>, tensor<4x3x3x3xf32>)
  // CHECK: fuse.conv3d %c, %w : (tensor<1x1x4x4x4xbf16>, tensor<2x1x2x2x2xbf16>) -> tensor<1x2x3x3x3xbf16>
  %2 = fuse.conv3d %c, %w : (tensor<1x1x4x4x4xbf16>, tensor<2x1x2x2x2xbf16>)
  return
}

// Padding is given before all axes, then after all axes.
// CHECK-LABEL: func.func @convolutions_with_every_property
func.func @convolutions_with_every_property(%a: tensor<1x8x4xf32>, %u: tensor<3x2x6xf32>, %b: tensor<1x8x8x4xi8>, %v: tensor<3x3x1x4xi8>, %c: tensor<1x4x4x4x2xf32>, %w: tensor<2x2x2x1x2xf32>) {
  // CHECK: fuse.conv1d %a, %u, strides = [2], padding = [1, 2], dilation = [2], groups = 2, data_layout = "NWC", kernel_layout = "WIO" : (tensor<1x8x4xf32>, tensor<3x2x6xf32>) -> tensor<1x4x6xf32>
  %0 = fuse.conv1d %a, %u, strides = [2], padding = [1, 2], dilation = [2], groups = 2, data_layout = "NWC", kernel_layout = "WIO" : (tensor<1x8x4xf32>, tensor<3x2x6xf32>)
  // CHECK: fuse.conv2d %b, %v, strides = [2, 1], padding = [1, 0, 1, 0], dilation = [1, 2], groups = 4, data_layout = "NHWC", kernel_layout = "HWIO" : (tensor<1x8x8x4xi8>, tensor<3x3x1x4xi8>) -> tensor<1x4x4x4xi8>
  %1 = fuse.conv2d %b, %v, strides = [2, 1], padding = [1, 0, 1, 0], dilation = [1, 2], groups = 4, data_layout = "NHWC", kernel_layout = "HWIO" : (tensor<1x8x8x4xi8>, tensor<3x3x1x4xi8>)
  // CHECK: fuse.conv3d %c, %w, strides = [1, 1, 2], padding = [0, 0, 1, 1, 0, 1], dilation = [1, 1, 2], groups = 2, data_layout = "NDHWC", kernel_layout = "DHWIO" : (tensor<1x4x4x4x2xf32>, tensor<2x2x2x1x2xf32>) -> tensor<1x4x3x2x2xf32>
  %2 = fuse.conv3d %c, %w, strides = [1, 1, 2], padding = [0, 0, 1, 1, 0, 1], dilation = [1, 1, 2], groups = 2, data_layout = "NDHWC", kernel_layout = "DHWIO" : (tensor<1x4x4x4x2xf32>, tensor<2x2x2x1x2xf32>)
  return
}

// The kernel has the input channels first.
// CHECK-LABEL: func.func @transposed_convolutions_grow_their_operand
func.func @transposed_convolutions_grow_their_operand(%a: tensor<1x4x3x?xf32>, %b: tensor<1x3x3x4xf32>, %v: tensor<4x2x3x3xf32>) {
  // CHECK: fuse.conv2d_transpose %a, %v : (tensor<1x4x3x?xf32>, tensor<4x2x3x3xf32>) -> tensor<1x2x5x?xf32>
  %0 = fuse.conv2d_transpose %a, %v : (tensor<1x4x3x?xf32>, tensor<4x2x3x3xf32>)
  // CHECK: fuse.conv2d_transpose %b, %v, strides = [2, 2], padding = [1, 1, 1, 1], output_padding = [1, 0], dilation = [1, 2], groups = 2, data_layout = "NHWC" : (tensor<1x3x3x4xf32>, tensor<4x2x3x3xf32>) -> tensor<1x6x7x4xf32>
  %1 = fuse.conv2d_transpose %b, %v, strides = [2, 2], padding = [1, 1, 1, 1], output_padding = [1, 0], dilation = [1, 2], groups = 2, data_layout = "NHWC", kernel_layout = "IOHW" : (tensor<1x3x3x4xf32>, tensor<4x2x3x3xf32>)
  return
}

// The same along three axes.
// CHECK-LABEL: func.func @volumes_are_convolved_backwards
func.func @volumes_are_convolved_backwards(%v: tensor<1x4x3x3x?xf32>, %w: tensor<4x2x3x3x3xf32>) {
  // CHECK: fuse.conv3d_transpose %v, %w, strides = [2, 2, 2], padding = [1, 1, 1, 1, 1, 1], output_padding = [1, 0, 1] : (tensor<1x4x3x3x?xf32>, tensor<4x2x3x3x3xf32>) -> tensor<1x2x6x5x?xf32>
  %0 = fuse.conv3d_transpose %v, %w, strides = [2, 2, 2], padding = [1, 1, 1, 1, 1, 1], output_padding = [1, 0, 1] : (tensor<1x4x3x3x?xf32>, tensor<4x2x3x3x3xf32>)
  return
}
