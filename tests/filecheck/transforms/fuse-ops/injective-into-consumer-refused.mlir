// RUN: fuse-opt %s --fuse-ops | filecheck %s
// RUN: fuse-opt %s --fuse-ops --fusion-remarks --remarks-verbose 2>&1 >/dev/null | filecheck %s --check-prefix=WHY

// sink-kind: an injective operator does not join a reduction.
func.func @into_reduction(%x: tensor<4x8xf32>) -> tensor<8xf32> {
  // WHY: injective-into-consumer-refused.mlir:7:8: remark: 'fuse.transpose' op not fused into 'fuse.sum': sink-kind
  %0 = fuse.transpose %x, permutation = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %1 = fuse.sum %0, axes = [1] : (tensor<8x4xf32>) -> tensor<8xf32>
  func.return %1 : tensor<8xf32>
}
// CHECK-LABEL: func.func @into_reduction
// CHECK-NEXT:    func.call @fused_transpose(%x)
// CHECK-NEXT:    func.call @fused_sum(
// CHECK-NEXT:    func.return

// sink-kind: nor an addition that an anchor has taken before.
func.func @into_epilogue(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = fuse.softmax %x : tensor<8x8xf32>
  // WHY: injective-into-consumer-refused.mlir:20:8: remark: 'fuse.transpose' op not fused into 'fuse.add': sink-kind
  %1 = fuse.transpose %y, permutation = [1, 0] : tensor<8x8xf32>
  %2 = fuse.add %0, %1 : tensor<8x8xf32>
  func.return %2 : tensor<8x8xf32>
}
// CHECK-LABEL: func.func @into_epilogue
// CHECK-NEXT:    [[Y:%.*]] = func.call @fused_transpose_0(%y)
// CHECK-NEXT:    func.call @fused_softmax_add(%x, [[Y]])
// CHECK-NEXT:    func.return

// value-escapes: the two parts of the split are results of the function.
func.func @split_apart(%x: tensor<4x8xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  // WHY: injective-into-consumer-refused.mlir:32:10: remark: 'fuse.split' op not fused: value-escapes
  %0:2 = fuse.split %x, axis = 1, sizes = [4, 4] : (tensor<4x8xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  %1 = fuse.exp %0#0 : tensor<4x4xf32>
  %2 = fuse.tanh %0#1 : tensor<4x4xf32>
  func.return %1, %2 : tensor<4x4xf32>, tensor<4x4xf32>
}
// CHECK-LABEL: func.func @split_apart
// CHECK-NEXT:    {{.*}}, {{.*}} = func.call @fused_split(%x)
// CHECK-NEXT:    func.call @fused_exp(
// CHECK-NEXT:    func.call @fused_tanh(
// CHECK-NEXT:    func.return
