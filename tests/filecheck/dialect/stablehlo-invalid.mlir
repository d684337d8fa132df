// RUN: fuse-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// CHECK: operation 'stablehlo.addd' is not registered, did you mean 'stablehlo.add'?
func.func @unknown_op(%x: tensor<4xf32>) {
  %0 = stablehlo.addd %x, %x : tensor<4xf32>
  return
}

// -----

// CHECK: operation 'mhlo.add' is not registered
func.func @dialect_without_assembly(%x: tensor<4xf32>) {
  %0 = mhlo.add %x, %x : tensor<4xf32>
  return
}

// -----

// CHECK: 2 types do not say those of 2 operands and the results
func.func @types_that_say_too_much(%x: tensor<4xf32>) {
  %0 = stablehlo.add %x, %x : tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// CHECK: expected 1 operand types but had 2
func.func @types_that_say_too_little(%x: tensor<4xf32>) {
  %0 = stablehlo.add %x, %x : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// CHECK: expected 'dims'
func.func @clause_is_missing(%x: tensor<4x2xf32>) {
  %0 = stablehlo.transpose %x : (tensor<4x2xf32>) -> tensor<2x4xf32>
  return
}

// -----

// CHECK: expected 'contracting_dims'
func.func @axes_are_missing(%x: tensor<4x4xf32>) {
  %0 = stablehlo.dot_general %x, %x, batching_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

// CHECK: 'add' takes nothing of that name
func.func @clause_of_another_op(%x: tensor<4xf32>) {
  %0 = stablehlo.add %x, %x, dims = [0] : tensor<4xf32>
  return
}

// -----

// CHECK: expected one of EQ, GE, GT, LE, LT, NE, got 'LTE'
func.func @unknown_word(%x: tensor<4xf32>) {
  %0 = stablehlo.compare LTE, %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return
}

// -----

// CHECK: unknown or repeated field 'rows', expected one of lhs_batching_dimensions
func.func @unknown_field(%x: tensor<4x4xf32>) {
  %0 = "stablehlo.dot_general"(%x, %x) <{dot_dimension_numbers = #stablehlo.dot<rows = [0]>}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

// CHECK: expected each of b, f, 0, 1, ... once, got b, 0, 0, f
func.func @axis_twice(%x: tensor<1x8x8x3xf32>, %w: tensor<3x3x3x4xf32>) {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 0, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x6x6x4xf32>
  return
}

// -----

// CHECK: expected two numbers for each axis of 'pad'
func.func @padding_of_one_number(%x: tensor<1x8x8x3xf32>, %w: tensor<3x3x3x4xf32>) {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1], [1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x6x6x4xf32>
  return
}

// -----

// CHECK: expected bits of exponent and mantissa as in 'e8m7', got 'bf16'
func.func @format_that_is_none(%x: tensor<4xf32>) {
  %0 = stablehlo.reduce_precision %x, format = bf16 : tensor<4xf32>
  return
}

// -----

// CHECK: expected a commutative op of two operands, got 'stablehlo.subtract'
func.func @reduction_by_difference(%x: tensor<4xf32>, %s: tensor<f32>) {
  %0 = stablehlo.reduce(%x init: %s) applies stablehlo.subtract across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

// CHECK: expected the type of each of 2 values, got 1
func.func @loop_without_a_type(%x: tensor<4xf32>) {
  %0:2 = stablehlo.while(%i = %x, %j = %x) : tensor<4xf32>
  cond {
    stablehlo.return %i : tensor<4xf32>
  } do {
    stablehlo.return %i, %j : tensor<4xf32>, tensor<4xf32>
  }
  return
}

// -----

// CHECK: expects 2 operands, got 1
func.func @operand_is_missing(%x: tensor<4xf32>) {
  %0 = "stablehlo.add"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// CHECK: expects 1 regions, got 0
func.func @region_is_missing(%x: tensor<4xf32>, %s: tensor<f32>) {
  %0 = "stablehlo.reduce"(%x, %s) <{dimensions = array<i64: 0>}> : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

// CHECK: property 'permutation' expected
func.func @property_is_missing(%x: tensor<4x2xf32>) {
  %0 = "stablehlo.transpose"(%x) : (tensor<4x2xf32>) -> tensor<2x4xf32>
  return
}

// -----

// CHECK: the location '#loc1' is defined by itself
#loc1 = loc("a"(#loc2))
func.func @circle(%x: tensor<4xf32>) {
  return loc(#loc1)
}
#loc2 = loc("b"(#loc1))

// -----

// CHECK: undefined symbol alias '#loc9'
func.func @unknown_location(%x: tensor<4xf32>) {
  return loc(#loc9)
}

// -----

// CHECK: the location '#loc1' is defined by itself
#loc1 = loc(callsite(#loc1 at #loc1))
func.func @itself(%x: tensor<4xf32>) {
  return loc(#loc1)
}
