// RUN: not fuse-opt %s 2>&1 | filecheck %s
// RUN: not fuse-run %s --random-inputs 0 2>&1 | filecheck %s
// RUN: fuse-opt %s --disable-verify | filecheck %s --check-prefix=UNVERIFIED

// CHECK: dominance.mlir:10:8: error: 'fuse.exp' op operand #0 does not dominate this use
// CHECK: note: {{.*}}dominance.mlir:11:8: operand defined here

// UNVERIFIED: fuse.exp
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %b = fuse.exp %a : tensor<4xf32>
  %a = fuse.tanh %x : tensor<4xf32>
  return %b : tensor<4xf32>
}
