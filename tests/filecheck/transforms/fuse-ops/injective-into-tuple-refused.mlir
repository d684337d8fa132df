// RUN: fuse-opt %s --fuse-ops | filecheck %s
// RUN: fuse-opt %s --fuse-ops --fusion-remarks --remarks-verbose 2>&1 >/dev/null | filecheck %s --check-prefix=WHY

// no-rule: an anchor stays outside of a concatenation, and so does an opaque operator.
func.func @anchor_and_reduction(%x: tensor<4x8xf32>) -> tensor<8x8xf32> {
  // WHY: injective-into-tuple-refused.mlir:7:8: remark: 'fuse.softmax' op not fused into the operands of 'fuse.concatenate': no-rule
  %0 = fuse.softmax %x : tensor<4x8xf32>
  %1 = fuse.cumsum %x, axis = 0 : tensor<4x8xf32>
  %2 = fuse.concatenate %0, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  func.return %2 : tensor<8x8xf32>
}
// CHECK-LABEL: func.func @anchor_and_reduction
// CHECK-NEXT:    func.call @fused_softmax(%x)
// CHECK-NEXT:    func.call @fused_cumsum(%x)
// CHECK-NEXT:    func.call @fused_concatenate(
// CHECK-NEXT:    func.return

// tuple-consumer: nothing has absorbed the tuple, because an unknown op reads it. It stays where it is.
func.func @tuple_for_somebody_else(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // WHY: injective-into-tuple-refused.mlir:21:8: remark: 'fuse.exp' op not fused into 'fuse.tuple': tuple-consumer
  %0 = fuse.exp %x : tensor<4x8xf32>
  %1 = fuse.tuple %0, %0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tuple<tensor<4x8xf32>, tensor<4x8xf32>>
  %2 = builtin.unrealized_conversion_cast %1 : tuple<tensor<4x8xf32>, tensor<4x8xf32>> to tensor<4x8xf32>
  func.return %2 : tensor<4x8xf32>
}
// CHECK-LABEL: func.func @tuple_for_somebody_else
// CHECK-NEXT:    [[E:%.*]] = func.call @fused_exp(%x)
// CHECK-NEXT:    [[T:%.*]] = fuse.tuple [[E]], [[E]]
// CHECK-NEXT:    builtin.unrealized_conversion_cast [[T]]
// CHECK-NEXT:    func.return
