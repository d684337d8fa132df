// RUN: fuse-opt %s --allow-unregistered-dialect --fuse-ops --fusion-remarks --remarks-verbose --mlir-pass-statistics 2>&1 >/dev/null | filecheck %s

// An op of unknown kind that works on tensors says why it stays. Barriers, calls and ops on other values say nothing.
func.func @main(%x: tensor<4xf32>, %i: index) -> tensor<4xf32> {
  // CHECK: 'fuse.exp' op not fused into 'npu.all_reduce': edge-kind
  %0 = fuse.exp %x : tensor<4xf32>
  // CHECK: fusion-remarks-unknown-op.mlir:{{[0-9]+}}:8: remark: 'npu.all_reduce' op not fused into 'fuse.stop_fusion': opaque
  // CHECK-NEXT: note: its kind is not known, so it stays where it is; fuse.pattern_kind on the op, or --kinds, would say it
  %1 = "npu.all_reduce"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NOT: remark: 'fuse.stop_fusion'
  %2 = fuse.stop_fusion %1 : tensor<4xf32>
  // CHECK-NOT: remark: 'npu.index'
  %3 = "npu.index"(%i) : (index) -> index
  // CHECK-NOT: remark: 'func.call'
  %4 = func.call @callee(%2) : (tensor<4xf32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

func.func private @callee(%x: tensor<4xf32>) -> tensor<4xf32>

// CHECK: refusals: edge-kind=1 opaque=1
