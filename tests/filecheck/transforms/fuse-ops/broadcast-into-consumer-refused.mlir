// RUN: fuse-opt %s --fuse-ops | filecheck %s
// RUN: fuse-opt %s --fuse-ops --fusion-remarks --remarks-verbose 2>&1 >/dev/null | filecheck %s --check-prefix=WHY

// edge-kind: nothing fuses into the operands of an anchor.
func.func @into_anchor(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>) -> tensor<4x16xf32> {
  // WHY: broadcast-into-consumer-refused.mlir:7:8: remark: 'fuse.relu' op not fused into 'fuse.dense': edge-kind
  %0 = fuse.relu %x : tensor<4x8xf32>
  %1 = fuse.dense %0, %w : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
  func.return %1 : tensor<4x16xf32>
}
// CHECK-LABEL: func.func @into_anchor
// CHECK-NEXT:    func.call @fused_relu(%x)
// CHECK-NEXT:    func.call @fused_dense(
// CHECK-NEXT:    func.return

// edge-kind: nor into an opaque operator.
func.func @into_opaque(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // WHY: broadcast-into-consumer-refused.mlir:19:8: remark: 'fuse.exp' op not fused into 'fuse.sort': edge-kind
  %0 = fuse.exp %x : tensor<4x8xf32>
  %1 = fuse.sort %0 : tensor<4x8xf32>
  func.return %1 : tensor<4x8xf32>
}
// CHECK-LABEL: func.func @into_opaque
// CHECK-NEXT:    func.call @fused_exp(%x)
// CHECK-NEXT:    func.call @fused_sort(
// CHECK-NEXT:    func.return

// path-kind: the users of %0 meet in the addition, but a reduction lies on the way.
func.func @reduction_between(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // WHY: broadcast-into-consumer-refused.mlir:31:8: remark: 'fuse.exp' op not fused into 'fuse.divide': path-kind
  %0 = fuse.exp %x : tensor<4x8xf32>
  %1 = fuse.sum %0, axes = [1], keepdims = true : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %2 = fuse.divide %0, %1 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  func.return %2 : tensor<4x8xf32>
}
// CHECK-LABEL: func.func @reduction_between
// CHECK-NEXT:    func.call @fused_exp(%x)
// CHECK-NEXT:    func.call @fused_sum(
// CHECK-NEXT:    func.call @fused_divide(
// CHECK-NEXT:    func.return

// no-rule: a reduction never fuses into its consumers.
func.func @out_of_reduction(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  // WHY: broadcast-into-consumer-refused.mlir:45:8: remark: 'fuse.sum' op not fused into 'fuse.exp': no-rule
  %0 = fuse.sum %x, axes = [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  %1 = fuse.exp %0 : tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
// CHECK-LABEL: func.func @out_of_reduction
// CHECK-NEXT:    func.call @fused_sum_0(%x)
// CHECK-NEXT:    func.call @fused_exp_0(
// CHECK-NEXT:    func.return

// value-escapes: the users of %0 meet nowhere.
func.func @two_results(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  // WHY: broadcast-into-consumer-refused.mlir:57:8: remark: 'fuse.exp' op not fused: value-escapes
  %0 = fuse.exp %x : tensor<4x8xf32>
  %1 = fuse.tanh %0 : tensor<4x8xf32>
  %2 = fuse.relu %0 : tensor<4x8xf32>
  func.return %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>
}
// CHECK-LABEL: func.func @two_results
// CHECK-NEXT:    func.call @fused_exp(%x)
// CHECK-NEXT:    func.call @fused_tanh(
// CHECK-NEXT:    func.call @fused_relu(
// CHECK-NEXT:    func.return
