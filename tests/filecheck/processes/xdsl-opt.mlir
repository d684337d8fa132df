// RUN: xdsl-opt %s -p fuse-ops | filecheck %s

// CHECK: func.func private @fused_add_tanh(
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = fuse.add %x, %x : tensor<4xf32>
  %b = fuse.tanh %a : tensor<4xf32>
  return %b : tensor<4xf32>
}
