// RUN: FUSE_ROUNDTRIP

// CHECK-LABEL: func.func @requantize
func.func @requantize(%x: tensor<1x4x?x7xi32>, %s: tensor<f32>, %v: tensor<4xf32>, %b: tensor<3xui8>) {
  // CHECK-NEXT: %a = fuse.requantize %x, %s : (tensor<1x4x?x7xi32>, tensor<f32>) -> tensor<1x4x?x7xi8>
  %a = fuse.requantize %x, %s, out_dtype = "i8" : (tensor<1x4x?x7xi32>, tensor<f32>) -> tensor<1x4x?x7xi8>
  // CHECK-NEXT: %c = fuse.requantize %x, %v, zero = 3, low = 3, high = 200, out_dtype = "ui8" : (tensor<1x4x?x7xi32>, tensor<4xf32>) -> tensor<1x4x?x7xui8>
  %c = fuse.requantize %x, %v, zero = 3, low = 3, high = 200, out_dtype = "ui8" : (tensor<1x4x?x7xi32>, tensor<4xf32>)
  // CHECK-NEXT: %d = fuse.requantize %b, %s, input_zero = 128 : (tensor<3xui8>, tensor<f32>) -> tensor<3xi8>
  %d = fuse.requantize %b, %s, input_zero = 128 : (tensor<3xui8>, tensor<f32>)
  return
}

// CHECK-LABEL: func.func @sum
func.func @sum(%x: tensor<4xi8>, %y: tensor<4xui8>) {
  // CHECK-NEXT: %a = fuse.requantize_sum %x, %y, lhs_scale = 0.5, rhs_scale = 0.25, rhs_zero = 7, scale = 2.0, zero = 1 : (tensor<4xi8>, tensor<4xui8>) -> tensor<4xi8>
  %a = fuse.requantize_sum %x, %y, lhs_scale = 0.5, rhs_scale = 0.25, rhs_zero = 7, scale = 2.0, zero = 1 : (tensor<4xi8>, tensor<4xui8>)
  return
}
