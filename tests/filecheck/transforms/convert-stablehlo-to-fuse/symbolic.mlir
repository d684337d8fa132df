// RUN: fuse-opt %s --convert-stablehlo-to-fuse=strict=true | filecheck %s

// A bias that is repeated to the batch is not repeated: the sum broadcasts it. A check of sizes stays.
// CHECK-LABEL: func.func @bias
func.func @bias(%x: tensor<?x4xf32>, %b: tensor<4xf32>) -> tensor<?x4xf32> {
  // CHECK: fuse.shape_of %x
  // CHECK: %[[N:.*]] = fuse.cast %{{.*}} : (tensor<i64>) -> tensor<i32>
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %good = stablehlo.compare GE, %n, %one, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  // CHECK: stablehlo.custom_call @shape_assertion(%{{.*}}, %[[N]])
  stablehlo.custom_call @shape_assertion(%good, %n) {api_version = 2 : i32, error_message = "got {0}", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
  %list = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %four = stablehlo.constant dense<4> : tensor<1xi32>
  %sizes = stablehlo.concatenate %list, %four, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %wide = stablehlo.dynamic_broadcast_in_dim %b, %sizes, dims = [1] : (tensor<4xf32>, tensor<2xi32>) -> tensor<?x4xf32>
  // CHECK-NOT: dyn_broadcast_to
  // CHECK: fuse.add %x, %b : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %y = stablehlo.add %x, %wide : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// Rows on two open axes stay apart: the left side is a batch of matrices.
// CHECK-LABEL: func.func @product
func.func @product(%x: tensor<?x?x4xf32>, %w: tensor<4x8xf32>) -> tensor<?x?x8xf32> {
  // CHECK-NEXT: fuse.batch_matmul %x, %w
  %y = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] : (tensor<?x?x4xf32>, tensor<4x8xf32>) -> tensor<?x?x8xf32>
  return %y : tensor<?x?x8xf32>
}

// One open size is what remains and needs no computation; two are read from the list.
// CHECK-LABEL: func.func @reshapes
func.func @reshapes(%x: tensor<?x4xf32>, %one: tensor<1xi32>, %two: tensor<3xi32>) -> (tensor<?xf32>, tensor<?x?x2xf32>) {
  // CHECK-NEXT: fuse.reshape %x : (tensor<?x4xf32>) -> tensor<?xf32>
  %0 = stablehlo.dynamic_reshape %x, %one : (tensor<?x4xf32>, tensor<1xi32>) -> tensor<?xf32>
  // CHECK-NEXT: fuse.dyn_reshape %x, %two, allowzero = true
  %1 = stablehlo.dynamic_reshape %x, %two : (tensor<?x4xf32>, tensor<3xi32>) -> tensor<?x?x2xf32>
  return %0, %1 : tensor<?xf32>, tensor<?x?x2xf32>
}

// CHECK-LABEL: func.func @moves
func.func @moves(%x: tensor<?x4xf32>, %low: tensor<2xi32>, %high: tensor<2xi32>, %step: tensor<2xi32>, %v: tensor<f32>) -> (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x4xi32>) {
  // CHECK-NEXT: fuse.dyn_strided_slice %x, %low, %high, %step
  %0 = stablehlo.real_dynamic_slice %x, %low, %high, %step : (tensor<?x4xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
  %none = stablehlo.constant dense<0> : tensor<2xi32>
  // CHECK: fuse.dyn_pad %x, %v, %low, %high
  %1 = stablehlo.dynamic_pad %x, %v, %low, %high, %none : (tensor<?x4xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
  // CHECK: fuse.dyn_arange
  // CHECK: fuse.dyn_broadcast_to
  %2 = stablehlo.dynamic_iota %low, dim = 0 : (tensor<2xi32>) -> tensor<?x4xi32>
  return %0, %1, %2 : tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x4xi32>
}

// The widths of a convolution's border are operands: the image is padded first.
// CHECK-LABEL: func.func @convolution
func.func @convolution(%x: tensor<?x?x?x3xf32>, %w: tensor<3x3x3x8xf32>, %pad: tensor<2x2xi32>) -> tensor<?x?x?x8xf32> {
  // CHECK: fuse.dyn_pad %x
  // CHECK: fuse.conv2d {{.*}}strides = [2, 2]
  %0 = "stablehlo.dynamic_conv"(%x, %w, %pad) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, window_strides = array<i64: 2, 2>}> : (tensor<?x?x?x3xf32>, tensor<3x3x3x8xf32>, tensor<2x2xi32>) -> tensor<?x?x?x8xf32>
  return %0 : tensor<?x?x?x8xf32>
}
