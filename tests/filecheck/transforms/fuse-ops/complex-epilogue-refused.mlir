// RUN: fuse-opt %s --fuse-ops | filecheck %s
// RUN: fuse-opt %s --fuse-ops --fusion-remarks --remarks-verbose 2>&1 >/dev/null | filecheck %s --check-prefix=WHY

// edge-kind: the anchor's output is the operand that is broadcast, so that each element would be computed many times.
func.func @output_is_broadcast(%x: tensor<8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // WHY: complex-epilogue-refused.mlir:7:8: remark: 'fuse.softmax' op not fused into 'fuse.add': edge-kind
  %0 = fuse.softmax %x : tensor<8xf32>
  %1 = fuse.add %0, %y : (tensor<8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %1 : tensor<4x8xf32>
}
// CHECK-LABEL: func.func @output_is_broadcast
// CHECK-NEXT:    func.call @fused_softmax(%x)
// CHECK-NEXT:    func.call @fused_add(
// CHECK-NEXT:    func.return

// edge-kind: an injective consumer reads other elements than its own.
func.func @injective_consumer(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  // WHY: complex-epilogue-refused.mlir:19:8: remark: 'fuse.softmax' op not fused into 'fuse.transpose': edge-kind
  %0 = fuse.softmax %x : tensor<4x8xf32>
  %1 = fuse.transpose %0, permutation = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  func.return %1 : tensor<8x4xf32>
}
// CHECK-LABEL: func.func @injective_consumer
// CHECK-NEXT:    func.call @fused_softmax_0(%x)
// CHECK-NEXT:    func.call @fused_transpose(
// CHECK-NEXT:    func.return

// sink-kind: a group never holds two anchors; the first one in the order of the graph takes the addition.
func.func @two_anchors_meet(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = fuse.softmax %x : tensor<4x8xf32>
  // WHY: complex-epilogue-refused.mlir:32:8: remark: 'fuse.log_softmax' op not fused into 'fuse.add': sink-kind
  %1 = fuse.log_softmax %y : tensor<4x8xf32>
  %2 = fuse.add %0, %1 : tensor<4x8xf32>
  func.return %2 : tensor<4x8xf32>
}
// CHECK-LABEL: func.func @two_anchors_meet
// CHECK-NEXT:    [[Y:%.*]] = func.call @fused_log_softmax(%y)
// CHECK-NEXT:    func.call @fused_softmax_add(%x, [[Y]])
// CHECK-NEXT:    func.return

// edge-kind: one of the ways to the point where the users meet leads through a reduction.
func.func @reduction_between(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // WHY: complex-epilogue-refused.mlir:44:8: remark: 'fuse.softmax' op not fused into 'fuse.divide': edge-kind
  %0 = fuse.softmax %x : tensor<4x8xf32>
  %1 = fuse.sum %0, axes = [1], keepdims = true : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %2 = fuse.divide %0, %1 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  func.return %2 : tensor<4x8xf32>
}
// CHECK-LABEL: func.func @reduction_between
// CHECK-NEXT:    func.call @fused_softmax_0(%x)
// CHECK-NEXT:    func.call @fused_sum(
// CHECK-NEXT:    func.call @fused_divide(
// CHECK-NEXT:    func.return

// value-escapes: the caller wants the anchor's output too, so it must be computed in any case.
func.func @output_is_returned(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  // WHY: complex-epilogue-refused.mlir:58:8: remark: 'fuse.softmax' op not fused: value-escapes
  %0 = fuse.softmax %x : tensor<4x8xf32>
  %1 = fuse.relu %0 : tensor<4x8xf32>
  func.return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}
// CHECK-LABEL: func.func @output_is_returned
// CHECK-NEXT:    func.call @fused_softmax_0(%x)
// CHECK-NEXT:    func.call @fused_relu(
// CHECK-NEXT:    func.return

// path-kind: %0 stands first and takes the addition; so the addition blocks the way of %1 to the multiplication.
func.func @other_anchor_between(%x: tensor<2x2xf32>, %y: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = fuse.log_softmax %y : tensor<2x2xf32>
  // WHY: complex-epilogue-refused.mlir:71:8: remark: 'fuse.softmax' op not fused into 'fuse.multiply': path-kind
  %1 = fuse.softmax %x : tensor<2x2xf32>
  %2 = fuse.add %0, %1 : tensor<2x2xf32>
  %3 = fuse.exp %1 : tensor<2x2xf32>
  %4 = fuse.multiply %2, %3 : tensor<2x2xf32>
  func.return %4 : tensor<2x2xf32>
}
// CHECK-LABEL: func.func @other_anchor_between
// CHECK-NEXT:    [[S:%.*]] = func.call @fused_softmax_{{[0-9]}}(%x)
// CHECK-NEXT:    func.call @fused_log_softmax_add_exp_multiply(%y, [[S]])
// CHECK-NEXT:    func.return
