// RUN: fuse-opt --compile-pipeline=layout=keep %s | filecheck %s

// What is compiled: StableHLO is said with `fuse` ops, constants are folded, operators are grouped.
// CHECK-LABEL: func.func public @main
// CHECK-NOT: stablehlo
// CHECK: func.call @fused_multiply_tanh
func.func public @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %c = stablehlo.constant dense<2.0> : tensor<4x8xf32>
  %0 = stablehlo.multiply %x, %c : tensor<4x8xf32>
  %1 = stablehlo.tanh %0 : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
