// RUN: fuse-opt --fuse-ops %s | filecheck %s

// What a reduction starts with is computed in its kernel, however it is written: a broadcast of no axes, as JAX writes it
// for windows, or a computation.

// CHECK-LABEL: func.func @windows
// CHECK-NEXT: func.call @fused_broadcast_in_dim_reduce_window(%{{.*}}) : (tensor<8x9xf32>) -> tensor<8x9xf32>
// CHECK-NEXT: return
func.func @windows(%x: tensor<8x9xf32>) -> tensor<8x9xf32> {
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %start = stablehlo.broadcast_in_dim %lowest, dims = [] : (tensor<f32>) -> tensor<f32>
  %y = "stablehlo.reduce_window"(%x, %start) <{
    padding = dense<[[7, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 8, 1>
  }> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<8x9xf32>, tensor<f32>) -> tensor<8x9xf32>
  return %y : tensor<8x9xf32>
}

// The windows themselves are no prologue of another op, nor is what they slide over computed in their kernel.

// CHECK-LABEL: func.func @input_of_windows
// CHECK-NEXT: func.call @fused_negate(
// CHECK-NEXT: func.call @fused_reduce_window(
func.func @input_of_windows(%x: tensor<8x9xf32>, %start: tensor<f32>) -> tensor<8x9xf32> {
  %n = stablehlo.negate %x : tensor<8x9xf32>
  %y = "stablehlo.reduce_window"(%n, %start) <{
    padding = dense<[[7, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 8, 1>
  }> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<8x9xf32>, tensor<f32>) -> tensor<8x9xf32>
  return %y : tensor<8x9xf32>
}

// CHECK-LABEL: func.func @sum
// CHECK-NEXT: func.call @fused_negate_reduce(
// CHECK-NEXT: return
func.func @sum(%x: tensor<8x9xf32>, %s: tensor<f32>) -> tensor<8xf32> {
  %start = stablehlo.negate %s : tensor<f32>
  %y = stablehlo.reduce(%x init: %start) applies stablehlo.add across dimensions = [1]
    : (tensor<8x9xf32>, tensor<f32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}
