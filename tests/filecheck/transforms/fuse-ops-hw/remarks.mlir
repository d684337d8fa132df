// RUN: fuse-opt %s --fuse-ops-hw="template=gemmini" --fusion-remarks --remarks-verbose 2>&1 >/dev/null | filecheck %s
// RUN: not fuse-opt %s --fuse-ops-hw="template=npu" --fusion-remarks --remarks-verbose 2>&1 | filecheck %s --check-prefix=NONE

// What does not go along with the trip before it, and what no unit runs. The operators that do go along have no remark.
func.func @main(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>, %w: tensor<4x4xf32>) -> tensor<2x4xf32> {
  %a = fuse.dense %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %b = fuse.relu %a : tensor<2x4xf32>
  // CHECK: remarks.mlir:10:8: remark: 'fuse.add' op starts a trip of its own: not-reachable
  // CHECK-NEXT: note: no link leads from unit 'matmul_activation' to a unit of kind resadd
  %c = fuse.add %b, %y : tensor<2x4xf32>
  // CHECK-NEXT: remarks.mlir:13:8: remark: 'fuse.tanh' op stays on the host: no-unit
  // CHECK-NEXT: note: no unit runs this operator
  %d = fuse.tanh %c : tensor<2x4xf32>
  // CHECK-NOT: remark
  %e = fuse.relu %d : tensor<2x4xf32>
  func.return %e : tensor<2x4xf32>
}
// NONE: error: no hardware template 'npu'
// NONE-NOT: Traceback
