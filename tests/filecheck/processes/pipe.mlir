// RUN: cat %s | fuse-opt - --fuse-ops --print-op-generic | fuse-opt - --defuse-ops | filecheck %s

// CHECK-LABEL: func.func @main(
// CHECK-NEXT: fuse.exp
// CHECK-NEXT: fuse.sum
func.func @main(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %a = fuse.exp %x : tensor<4x8xf32>
  %b = fuse.sum %a, axes = [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  return %b : tensor<4xf32>
}
