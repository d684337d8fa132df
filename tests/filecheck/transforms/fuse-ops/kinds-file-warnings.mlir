// RUN: fuse-opt %s --kinds %S/Inputs/kinds.toml --fuse-ops --allow-unregistered-dialect 2>&1 >%t | filecheck %s
// RUN: not fuse-opt %s --kinds %S/Inputs/two-edges.toml --allow-unregistered-dialect 2>&1 | filecheck %s --check-prefix=EDGES
// RUN: not fuse-opt %s --kinds %s 2>&1 | filecheck %s --check-prefix=TOML

// A row that is for no op may be a slip, and is named with its line; a pattern that others overrule is not.
// CHECK-NOT:  warning: no op with a result has the name 'npu.*'
// CHECK:      kinds.toml:7: warning: no op with a result has the name 'npu.add*'
// CHECK-NEXT: kinds.toml:16: warning: no op with a result has the name 'npu.matmul_acc'
// CHECK-NEXT: kinds.toml:21: warning: no op with a result has the name 'npu.view'
// CHECK-NEXT: kinds.toml:26: warning: no op with a result has the name 'npu.sort'
// CHECK-NOT:  {{.}}

// An op with fewer operands than its row has edges.
// EDGES:      kinds-file-warnings.mlir:{{[0-9]+}}:8: error: 'npu.gelu' op has 1 operand, and {{.*}}two-edges.toml:1 gives 2 edges
// EDGES:      hint: a row for ops of different numbers of operands gives the edges that all have


// TOML: kinds-file-warnings.mlir:1:{{[0-9]+}}: error: no TOML
func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = "npu.matmul"(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "npu.gelu"(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %1 : tensor<4x4xf32>
}
