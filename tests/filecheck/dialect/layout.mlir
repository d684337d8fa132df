// RUN: FUSE_ROUNDTRIP

// One `?` is computed, others keep the size of the operand.
// CHECK-LABEL: func.func @reshape_takes_its_shape_from_the_result
func.func @reshape_takes_its_shape_from_the_result(%a: tensor<2x6xf32>, %d: tensor<?x?x8xi8>, %s: tensor<f64>) {
  // CHECK: fuse.reshape %a : (tensor<2x6xf32>) -> tensor<3x4xf32>
  %0 = fuse.reshape %a : (tensor<2x6xf32>) -> tensor<3x4xf32>
  // CHECK: fuse.reshape %a : (tensor<2x6xf32>) -> tensor<3x?xf32>
  %1 = fuse.reshape %a : (tensor<2x6xf32>) -> tensor<3x?xf32>
  // CHECK: fuse.reshape %d : (tensor<?x?x8xi8>) -> tensor<?x?x2x4xi8>
  %2 = fuse.reshape %d : (tensor<?x?x8xi8>) -> tensor<?x?x2x4xi8>
  // CHECK: fuse.reshape %s {tag} : tensor<f64>
  %3 = fuse.reshape %s {tag} : tensor<f64>
  return
}

// Axes may count from the end; result types are inferred.
// CHECK-LABEL: func.func @axes_are_permuted_dropped_and_reversed
func.func @axes_are_permuted_dropped_and_reversed(%a: tensor<1x?x3xf32>, %b: tensor<1x4x1xi1>, %c: tensor<?x2x3xf32>) {
  // CHECK: fuse.transpose %a, permutation = [2, 0, -2] : (tensor<1x?x3xf32>) -> tensor<3x1x?xf32>
  %0 = fuse.transpose %a, permutation = [2, 0, -2] : (tensor<1x?x3xf32>)
  // CHECK: fuse.squeeze %a, axes = [0] : (tensor<1x?x3xf32>) -> tensor<?x3xf32>
  %1 = fuse.squeeze %a, axes = [0] : (tensor<1x?x3xf32>)
  // CHECK: fuse.squeeze %b, axes = [] : (tensor<1x4x1xi1>) -> tensor<4xi1>
  %2 = fuse.squeeze %b, axes = [] : (tensor<1x4x1xi1>)
  // CHECK: fuse.reverse %a, axes = [0, -1] : tensor<1x?x3xf32>
  %3 = fuse.reverse %a, axes = [0, -1] : tensor<1x?x3xf32>
  // CHECK: fuse.batch_flatten %a : (tensor<1x?x3xf32>) -> tensor<1x?xf32>
  %4 = fuse.batch_flatten %a : (tensor<1x?x3xf32>)
  // CHECK: fuse.batch_flatten %c : (tensor<?x2x3xf32>) -> tensor<?x6xf32>
  %5 = fuse.batch_flatten %c : (tensor<?x2x3xf32>)
  return
}

// A default layout or mode is not printed.
// CHECK-LABEL: func.func @channels_and_pixels_trade_places
func.func @channels_and_pixels_trade_places(%a: tensor<1x8x2x?xf32>, %b: tensor<1x2x3x8xf32>) {
  // CHECK: fuse.depth_to_space %a, block_size = 2 : (tensor<1x8x2x?xf32>) -> tensor<1x2x4x?xf32>
  %0 = fuse.depth_to_space %a, block_size = 2 : (tensor<1x8x2x?xf32>)
  // CHECK: fuse.depth_to_space %b, block_size = 2, layout = "NHWC", mode = "CRD" : (tensor<1x2x3x8xf32>) -> tensor<1x4x6x2xf32>
  %1 = fuse.depth_to_space %b, block_size = 2, layout = "NHWC", mode = "CRD" : (tensor<1x2x3x8xf32>)
  // CHECK: fuse.space_to_depth %a, block_size = 2 : (tensor<1x8x2x?xf32>) -> tensor<1x32x1x?xf32>
  %2 = fuse.space_to_depth %a, block_size = 2, layout = "NCHW" : (tensor<1x8x2x?xf32>)
  // CHECK: fuse.space_to_depth %b, block_size = 1, layout = "NHWC" : tensor<1x2x3x8xf32>
  %3 = fuse.space_to_depth %b, block_size = 1, layout = "NHWC" : (tensor<1x2x3x8xf32>)
  return
}

// The block of `c` cuts `C`.
// CHECK-LABEL: func.func @layouts_are_permuted_and_blocked
func.func @layouts_are_permuted_and_blocked(%a: tensor<?x8x2x3xf32>, %b: tensor<?x2x2x3x4xf32>) {
  // CHECK: fuse.layout_transform %a, src_layout = "NCHW", dst_layout = "NHWC" : (tensor<?x8x2x3xf32>) -> tensor<?x2x3x8xf32>
  %0 = fuse.layout_transform %a, src_layout = "NCHW", dst_layout = "NHWC" : (tensor<?x8x2x3xf32>)
  // CHECK: fuse.layout_transform %a, src_layout = "NCHW", dst_layout = "NCHW4c" : (tensor<?x8x2x3xf32>) -> tensor<?x2x2x3x4xf32>
  %1 = fuse.layout_transform %a, src_layout = "NCHW", dst_layout = "NCHW4c" : (tensor<?x8x2x3xf32>)
  // CHECK: fuse.layout_transform %b, src_layout = "NCHW4c", dst_layout = "NHWC" : (tensor<?x2x2x3x4xf32>) -> tensor<?x2x3x8xf32>
  %2 = fuse.layout_transform %b, src_layout = "NCHW4c", dst_layout = "NHWC" : (tensor<?x2x2x3x4xf32>)
  return
}
