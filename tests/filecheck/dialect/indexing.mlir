// RUN: FUSE_ROUNDTRIP

// Left-out strides are 1, left-out axes the first ones; the greatest and least i64 are open ends.
// CHECK-LABEL: func.func @slices_are_python_slices
func.func @slices_are_python_slices(%a: tensor<4x?x6xf32>) {
  // CHECK: fuse.strided_slice %a, begin = [1], end = [3] : (tensor<4x?x6xf32>) -> tensor<2x?x6xf32>
  %0 = fuse.strided_slice %a, begin = [1], end = [3] : (tensor<4x?x6xf32>)
  // CHECK: fuse.strided_slice %a, begin = [-1, 0], end = [-9223372036854775808, 9223372036854775807], strides = [-2, 1], axes = [2, 1] : (tensor<4x?x6xf32>) -> tensor<4x?x3xf32>
  %1 = fuse.strided_slice %a, begin = [-1, 0], end = [-9223372036854775808, 9223372036854775807], strides = [-2, 1], axes = [2, 1] : (tensor<4x?x6xf32>)
  return
}

// Without an axis `take` flattens its operand.
// CHECK-LABEL: func.func @indices_pick_slices_and_elements
func.func @indices_pick_slices_and_elements(%a: tensor<4x?x6xf32>, %b: tensor<4x?xf32>, %i: tensor<2x?xi64>, %j: tensor<4x2xi32>, %k: tensor<?x3x1xi64>, %s: tensor<ui8>) {
  // CHECK: fuse.take %a, %i : (tensor<4x?x6xf32>, tensor<2x?xi64>) -> tensor<2x?xf32>
  %0 = fuse.take %a, %i : (tensor<4x?x6xf32>, tensor<2x?xi64>)
  // CHECK: fuse.take %a, %i, axis = -2, mode = "wrap" : (tensor<4x?x6xf32>, tensor<2x?xi64>) -> tensor<4x2x?x6xf32>
  %1 = fuse.take %a, %i, axis = -2, mode = "wrap" : (tensor<4x?x6xf32>, tensor<2x?xi64>)
  // CHECK: fuse.take %a, %s, axis = 0, mode = "fast" : (tensor<4x?x6xf32>, tensor<ui8>) -> tensor<?x6xf32>
  %2 = fuse.take %a, %s, axis = 0, mode = "fast" : (tensor<4x?x6xf32>, tensor<ui8>)
  // CHECK: fuse.gather %b, %j, axis = 1 : (tensor<4x?xf32>, tensor<4x2xi32>) -> tensor<4x2xf32>
  %3 = fuse.gather %b, %j, axis = 1 : (tensor<4x?xf32>, tensor<4x2xi32>)
  // CHECK: fuse.gather_nd %b, %j : (tensor<4x?xf32>, tensor<4x2xi32>) -> tensor<4xf32>
  %4 = fuse.gather_nd %b, %j : (tensor<4x?xf32>, tensor<4x2xi32>)
  // CHECK: fuse.gather_nd %a, %k, batch_dims = 1 : (tensor<4x?x6xf32>, tensor<?x3x1xi64>) -> tensor<4x3x6xf32>
  %5 = fuse.gather_nd %a, %k, batch_dims = 1 : (tensor<4x?x6xf32>, tensor<?x3x1xi64>)
  return
}

// A negative width crops.
// CHECK-LABEL: func.func @padding_grows_or_crops
func.func @padding_grows_or_crops(%b: tensor<4x?xf32>, %v: tensor<f32>) {
  // CHECK: fuse.pad %b, %v, low = [1, 0], high = [0, 2] : (tensor<4x?xf32>, tensor<f32>) -> tensor<5x?xf32>
  %0 = fuse.pad %b, %v, low = [1, 0], high = [0, 2] : (tensor<4x?xf32>, tensor<f32>)
  // CHECK: fuse.pad %b, %v, low = [-1, 1], high = [0, 1], mode = "reflect" : (tensor<4x?xf32>, tensor<f32>) -> tensor<3x?xf32>
  %1 = fuse.pad %b, %v, low = [-1, 1], high = [0, 1], mode = "reflect" : (tensor<4x?xf32>, tensor<f32>)
  return
}

// Scales are spelled only where they differ from the quotient of the sizes.
// CHECK-LABEL: func.func @images_are_resized_with_all_options_of_onnx
func.func @images_are_resized_with_all_options_of_onnx(%x: tensor<?x3x4x?xf32>, %y: tensor<1x4x4x3xf32>) {
  // CHECK: fuse.resize2d %x, size = [8, 8] : (tensor<?x3x4x?xf32>) -> tensor<?x3x8x8xf32>
  %0 = fuse.resize2d %x, size = [8, 8] : (tensor<?x3x4x?xf32>)
  // CHECK: fuse.resize2d %y, size = [2, 9], layout = "NHWC", method = "linear", coordinate_transformation_mode = "align_corners", scales = [0.6, 2.25] : (tensor<1x4x4x3xf32>) -> tensor<1x2x9x3xf32>
  %1 = fuse.resize2d %y, size = [2, 9], layout = "NHWC", method = "linear", coordinate_transformation_mode = "align_corners", scales = [0.6, 2.25] : (tensor<1x4x4x3xf32>)
  // CHECK: fuse.resize2d %x, size = [2, 9], coordinate_transformation_mode = "asymmetric", nearest_mode = "floor" : (tensor<?x3x4x?xf32>) -> tensor<?x3x2x9xf32>
  %2 = fuse.resize2d %x, size = [2, 9], coordinate_transformation_mode = "asymmetric", nearest_mode = "floor" : (tensor<?x3x4x?xf32>)
  return
}

// Cubic kernels, more pixels for smaller results, and parts of an image.
// CHECK-LABEL: func.func @images_are_resized_by_kernels
func.func @images_are_resized_by_kernels(%a: tensor<1x3x8x8xf32>) {
  // CHECK: fuse.resize2d %a, size = [16, 16], method = "cubic", cubic_alpha = -0.5, exclude_outside = true : (tensor<1x3x8x8xf32>) -> tensor<1x3x16x16xf32>
  %0 = fuse.resize2d %a, size = [16, 16], method = "cubic", cubic_alpha = -0.5, exclude_outside = true : (tensor<1x3x8x8xf32>)
  // CHECK: fuse.resize2d %a, size = [3, 5], method = "linear", coordinate_transformation_mode = "half_pixel_symmetric", antialias = true : (tensor<1x3x8x8xf32>) -> tensor<1x3x3x5xf32>
  %1 = fuse.resize2d %a, size = [3, 5], method = "linear", coordinate_transformation_mode = "half_pixel_symmetric", antialias = true : (tensor<1x3x8x8xf32>)
  // CHECK: fuse.resize2d %a, size = [4, 4], method = "linear", coordinate_transformation_mode = "tf_crop_and_resize", roi = [0.25, 0.0, 1.5, 1.0], extrapolation_value = 10.0 : (tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32>
  %2 = fuse.resize2d %a, size = [4, 4], method = "linear", coordinate_transformation_mode = "tf_crop_and_resize", roi = [0.25, 0.0, 1.5, 1.0], extrapolation_value = 10.0 : (tensor<1x3x8x8xf32>)
  return
}
