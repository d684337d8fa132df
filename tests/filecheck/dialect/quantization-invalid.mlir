// RUN: fuse-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

func.func @elements(%x: tensor<4xf32>, %s: tensor<f32>) {
  %a = fuse.requantize %x, %s : (tensor<4xf32>, tensor<f32>)
}
// CHECK: expects elements of i8, ui8 or i32, got f32
// -----
func.func @scale(%x: tensor<4xi32>, %s: tensor<f64>) {
  %a = fuse.requantize %x, %s : (tensor<4xi32>, tensor<f64>)
}
// CHECK: expects a scale of f32, got f64
// -----
func.func @axis(%x: tensor<2x4xi32>, %s: tensor<3xf32>) {
  %a = fuse.requantize %x, %s : (tensor<2x4xi32>, tensor<3xf32>)
}
// CHECK: axis 1 and 'scale'
// -----
func.func @zero(%x: tensor<2xi32>, %s: tensor<f32>) {
  %a = fuse.requantize %x, %s, zero = 128 : (tensor<2xi32>, tensor<f32>)
}
// CHECK: expects a zero point from -128 to 127, got 128
// -----
func.func @bounds(%x: tensor<2xi32>, %s: tensor<f32>) {
  %a = fuse.requantize %x, %s, low = 5, high = 3 : (tensor<2xi32>, tensor<f32>)
}
// CHECK: expects low <= high, got 5 and 3
// -----
func.func @out(%x: tensor<2xi32>, %s: tensor<f32>) {
  %a = fuse.requantize %x, %s, out_dtype = "i16" : (tensor<2xi32>, tensor<f32>)
}
// CHECK: out_dtype
// -----
func.func @shapes(%x: tensor<2xi8>, %y: tensor<3xi8>) {
  %a = fuse.requantize_sum %x, %y, lhs_scale = 1.0, rhs_scale = 1.0 : (tensor<2xi8>, tensor<3xi8>)
}
// CHECK: axis 0 of both operands
