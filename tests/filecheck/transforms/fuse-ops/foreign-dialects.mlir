// RUN: fuse-opt %s --fuse-ops --allow-unregistered-dialect | filecheck %s

// StableHLO in generic form, as jax prints it; no StableHLO dialect is needed.
func.func @stablehlo(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>, %b: tensor<4xf32>) -> tensor<8x4xf32> {
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  %0 = "stablehlo.dot_general"(%x, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %1 = "stablehlo.broadcast_in_dim"(%b) <{broadcast_dimensions = array<i64: 1>}> : (tensor<4xf32>) -> tensor<8x4xf32>
  %2 = "stablehlo.add"(%0, %1) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %3 = "stablehlo.broadcast_in_dim"(%zero) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x4xf32>
  %4 = "stablehlo.maximum"(%2, %3) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  func.return %4 : tensor<8x4xf32>
}
// CHECK-LABEL: func.func @stablehlo
// CHECK-NEXT:    func.call @fused_dot_general_broadcast_in_dim_add_broadcast_in_dim_maximum(%x, %w, %b)
// CHECK-NEXT:    func.return

// A broadcast that also turns the axes round is injective, and so no epilogue of the product takes it.
func.func @stablehlo_transposing_broadcast(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = "stablehlo.dot"(%x, %y) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "stablehlo.broadcast_in_dim"(%y) <{broadcast_dimensions = array<i64: 1, 0>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = "stablehlo.add"(%0, %1) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %2 : tensor<4x4xf32>
}
// CHECK-LABEL: func.func @stablehlo_transposing_broadcast
// CHECK-NEXT:    func.call @fused_broadcast_in_dim(%y)
// CHECK-NEXT:    func.call @fused_dot_add(
// CHECK-NEXT:    func.return

// The operands of a concatenation are one tuple; random numbers are no operator.
func.func @stablehlo_concatenate(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<8xf32> {
  %0 = "stablehlo.exponential"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "stablehlo.tanh"(%y) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "stablehlo.concatenate"(%0, %1) <{dimension = 0 : i64}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %3 = stablehlo.custom_call @f(%2) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %3 : tensor<8xf32>
}
// CHECK-LABEL: func.func @stablehlo_concatenate
// CHECK-NEXT:    [[C:%.*]] = func.call @fused_exponential_tanh_concatenate(%x, %y)
// CHECK-NEXT:    stablehlo.custom_call @f([[C]])
// CHECK-NEXT:    func.return

// TOSA, registered or not.
func.func @tosa(%x: tensor<1x8x8x4xf32>, %w: tensor<8x1x1x4xf32>, %b: tensor<8xf32>, %z: tensor<1xf32>) -> tensor<1x8x8x8xf32> {
  %0 = "tosa.conv2d"(%x, %w, %b, %z, %z) : (tensor<1x8x8x4xf32>, tensor<8x1x1x4xf32>, tensor<8xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x8x8x8xf32>
  %1 = tosa.clamp %0 {min_val = 0.0 : f32, max_val = 6.0 : f32} : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %2 = "tosa.sigmoid"(%1) : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  func.return %2 : tensor<1x8x8x8xf32>
}
// CHECK-LABEL: func.func @tosa
// CHECK-NEXT:    func.call @fused_conv2d_clamp_sigmoid(%x, %w, %b, %z)
// CHECK-NEXT:    func.return

// arith and math are elementwise on tensors, and unknown on scalars.
func.func @arith(%x: tensor<8xf32>, %s: f32) -> (tensor<8xf32>, f32) {
  %0 = arith.addf %x, %x : tensor<8xf32>
  %1 = math.exp %0 : tensor<8xf32>
  %2 = arith.addf %s, %s : f32
  func.return %1, %2 : tensor<8xf32>, f32
}
// CHECK-LABEL: func.func @arith
// CHECK-NEXT:    func.call @fused_addf_exp(%x)
// CHECK-NEXT:    arith.addf %s, %s : f32
// CHECK-NEXT:    func.return
