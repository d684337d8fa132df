// RUN: not fuse-opt %s -o %t 2>&1 | filecheck %s
// RUN: not cat %t

// CHECK: error.mlir:6:17: error: use of undefined value '%y'
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = fuse.exp %y : tensor<4xf32>
  return %a : tensor<4xf32>
}
