// RUN: fuse-opt %s --fuse-ops | filecheck %s

// sink-kind: an injective operator does not join a reduction.
func.func @into_reduction(%x: tensor<4x8xf32>) -> tensor<8xf32> {
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
