// RUN: FUSE_ROUNDTRIP

// Windows move by one element and need no padding.
// CHECK-LABEL: func.func @windows_with_defaults
func.func @windows_with_defaults(%a: tensor<?x3x8x8xf32>) {
  // CHECK: fuse.max_pool2d %a, pool_size = [2, 2] : (tensor<?x3x8x8xf32>) -> tensor<?x3x7x7xf32>
  %0 = fuse.max_pool2d %a, pool_size = [2, 2] : (tensor<?x3x8x8xf32>)
  // CHECK: fuse.avg_pool2d %a, pool_size = [2, 3] : (tensor<?x3x8x8xf32>) -> tensor<?x3x7x6xf32>
  %1 = fuse.avg_pool2d %a, pool_size = [2, 3] : (tensor<?x3x8x8xf32>)
  return
}

// In ceil mode a last window may reach beyond the padding.
// CHECK-LABEL: func.func @windows_with_every_property
func.func @windows_with_every_property(%b: tensor<1x8x8x3xui8>, %c: tensor<1x8x?x3xf32>) {
  // CHECK: fuse.max_pool2d %b, pool_size = [3, 3], strides = [2, 2], padding = [0, 1, 0, 1], dilation = [1, 2], ceil_mode = true, layout = "NHWC" : (tensor<1x8x8x3xui8>) -> tensor<1x4x4x3xui8>
  %0 = fuse.max_pool2d %b, pool_size = [3, 3], strides = [2, 2], padding = [0, 1, 0, 1], dilation = [1, 2], ceil_mode = true, layout = "NHWC" : (tensor<1x8x8x3xui8>)
  // CHECK: fuse.avg_pool2d %c, pool_size = [3, 3], strides = [2, 2], padding = [1, 1, 1, 1], dilation = [2, 1], ceil_mode = true, count_include_pad = true, layout = "NHWC" : (tensor<1x8x?x3xf32>) -> tensor<1x4x?x3xf32>
  %1 = fuse.avg_pool2d %c, pool_size = [3, 3], strides = [2, 2], padding = [1, 1, 1, 1], dilation = [2, 1], ceil_mode = true, count_include_pad = true, layout = "NHWC" : (tensor<1x8x?x3xf32>)
  return
}

// Height and width of the result do not depend on those of the operand.
// CHECK-LABEL: func.func @pooling_to_a_fixed_size
func.func @pooling_to_a_fixed_size(%a: tensor<?x3x8x8xf32>, %b: tensor<1x8x8x3xui8>, %c: tensor<1x8x?x3xf32>) {
  // CHECK: fuse.global_max_pool2d %a : (tensor<?x3x8x8xf32>) -> tensor<?x3x1x1xf32>
  %0 = fuse.global_max_pool2d %a : (tensor<?x3x8x8xf32>)
  // CHECK: fuse.global_max_pool2d %b, layout = "NHWC" : (tensor<1x8x8x3xui8>) -> tensor<1x1x1x3xui8>
  %1 = fuse.global_max_pool2d %b, layout = "NHWC" : (tensor<1x8x8x3xui8>)
  // CHECK: fuse.global_avg_pool2d %a : (tensor<?x3x8x8xf32>) -> tensor<?x3x1x1xf32>
  %2 = fuse.global_avg_pool2d %a, layout = "NCHW" : (tensor<?x3x8x8xf32>)
  // CHECK: fuse.global_avg_pool2d %c, layout = "NHWC" : (tensor<1x8x?x3xf32>) -> tensor<1x1x1x3xf32>
  %3 = fuse.global_avg_pool2d %c, layout = "NHWC" : (tensor<1x8x?x3xf32>)
  // CHECK: fuse.adaptive_avg_pool2d %a, output_size = [7, 1] : (tensor<?x3x8x8xf32>) -> tensor<?x3x7x1xf32>
  %4 = fuse.adaptive_avg_pool2d %a, output_size = [7, 1] : (tensor<?x3x8x8xf32>)
  // CHECK: fuse.adaptive_avg_pool2d %c, output_size = [2, 2], layout = "NHWC" : (tensor<1x8x?x3xf32>) -> tensor<1x2x2x3xf32>
  %5 = fuse.adaptive_avg_pool2d %c, output_size = [2, 2], layout = "NHWC" : (tensor<1x8x?x3xf32>)
  return
}

// Places of the greatest elements, counted over all elements.
// CHECK-LABEL: func.func @places_of_maxima
func.func @places_of_maxima(%a: tensor<?x3x8x8xf32>) {
  // CHECK: fuse.max_pool2d_indices %a, pool_size = [2, 2], strides = [2, 2] : (tensor<?x3x8x8xf32>) -> tensor<?x3x4x4xi64>
  %0 = fuse.max_pool2d_indices %a, pool_size = [2, 2], strides = [2, 2] : (tensor<?x3x8x8xf32>)
  return
}
