// RUN: fuse-opt %s --fuse-ops | filecheck %s

// CHECK-LABEL: func.func @main(
// CHECK: func.call @fused_exp_tanh(
// CHECK: func.func private @fused_exp_tanh(
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = fuse.exp %x : tensor<4xf32>
  %b = fuse.tanh %a : tensor<4xf32>
  return %b : tensor<4xf32>
}
