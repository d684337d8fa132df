// RUN: fuse-opt %s --fuse-ops | filecheck %s

// Injective operators join what reads them element by element.
func.func @transpose_into_elementwise(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %0 = fuse.transpose %x, permutation = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %1 = fuse.exp %0 : tensor<8x4xf32>
  func.return %1 : tensor<8x4xf32>
}
// CHECK-LABEL: func.func @transpose_into_elementwise
// CHECK-NEXT:    func.call @fused_transpose_exp(%x)
// CHECK-NEXT:    func.return

// A chain of injective operators is one copy.
func.func @injective_chain(%x: tensor<4x8xf32>) -> tensor<32xf32> {
  %0 = fuse.transpose %x, permutation = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %1 = fuse.reverse %0, axes = [0] : tensor<8x4xf32>
  %2 = fuse.reshape %1 : (tensor<8x4xf32>) -> tensor<32xf32>
  func.return %2 : tensor<32xf32>
}
// CHECK-LABEL: func.func @injective_chain
// CHECK-NEXT:    func.call @fused_transpose_reverse_reshape(%x)
// CHECK-NEXT:    func.return

// Each part of a split is a node of its own; all of them join when they meet again.
func.func @split_and_meet(%x: tensor<4x8xf32>) -> tensor<4x4xf32> {
  %0:2 = fuse.split %x, axis = 1, sizes = [4, 4] : (tensor<4x8xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  %1 = fuse.sigmoid %0#0 : tensor<4x4xf32>
  %2 = fuse.tanh %0#1 : tensor<4x4xf32>
  %3 = fuse.multiply %1, %2 : tensor<4x4xf32>
  func.return %3 : tensor<4x4xf32>
}
// CHECK-LABEL: func.func @split_and_meet
// CHECK-NEXT:    func.call @fused_split_sigmoid_tanh_multiply(%x)
// CHECK-NEXT:    func.return
