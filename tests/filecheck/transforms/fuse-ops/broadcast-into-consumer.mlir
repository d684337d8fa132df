// RUN: fuse-opt %s --fuse-ops | filecheck %s

// Elementwise and broadcast operators of any number become one loop.
func.func @chain(%x: tensor<4x8xf32>, %row: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = fuse.exp %x : tensor<4x8xf32>
  %1 = fuse.add %0, %row : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %2 = fuse.tanh %1 : tensor<4x8xf32>
  func.return %2 : tensor<4x8xf32>
}
// CHECK-LABEL: func.func @chain
// CHECK-NEXT:    func.call @fused_exp_add_tanh(%x, %row)
// CHECK-NEXT:    func.return

// A producer may itself be broadcast by its consumer.
func.func @producer_is_broadcast(%x: tensor<8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = fuse.exp %x : tensor<8xf32>
  %1 = fuse.add %0, %y : (tensor<8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %1 : tensor<4x8xf32>
}
// CHECK-LABEL: func.func @producer_is_broadcast
// CHECK-NEXT:    func.call @fused_exp_add(%x, %y)
// CHECK-NEXT:    func.return

// A reduction takes its elementwise producers.
func.func @into_reduction(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %0 = fuse.exp %x : tensor<4x8xf32>
  %1 = fuse.sum %0, axes = [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
// CHECK-LABEL: func.func @into_reduction
// CHECK-NEXT:    func.call @fused_exp_sum(%x)
// CHECK-NEXT:    func.return

// So does an injective operator.
func.func @into_transpose(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %0 = fuse.exp %x : tensor<4x8xf32>
  %1 = fuse.transpose %0, permutation = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  func.return %1 : tensor<8x4xf32>
}
// CHECK-LABEL: func.func @into_transpose
// CHECK-NEXT:    func.call @fused_exp_transpose(%x)
// CHECK-NEXT:    func.return

// The second operand of an addition that already belongs to an anchor joins the anchor's group.
func.func @beside_an_anchor(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = fuse.softmax %x : tensor<4x8xf32>
  %1 = fuse.exp %y : tensor<4x8xf32>
  %2 = fuse.add %0, %1 : tensor<4x8xf32>
  func.return %2 : tensor<4x8xf32>
}
// CHECK-LABEL: func.func @beside_an_anchor
// CHECK-NEXT:    func.call @fused_softmax_exp_add(%x, %y)
// CHECK-NEXT:    func.return
