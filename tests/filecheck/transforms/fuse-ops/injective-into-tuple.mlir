// RUN: fuse-opt %s --fuse-ops | filecheck %s

// The operands of a concatenation are one tuple; when the tuple has joined it, so may their producers.
func.func @producers_of_concatenation(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<8x8xf32> {
  %0 = fuse.exp %x : tensor<4x8xf32>
  %1 = fuse.tanh %y : tensor<4x8xf32>
  %2 = fuse.concatenate %0, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  func.return %2 : tensor<8x8xf32>
}
// CHECK-LABEL: func.func @producers_of_concatenation
// CHECK-NEXT:    func.call @fused_exp_tanh_concatenate(%x, %y)
// CHECK-NEXT:    func.return

// A tuple that is spelled out behaves alike, and moves into the primitive.
func.func @explicit_tuple(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = fuse.exp %x : tensor<4x8xf32>
  %1 = fuse.tuple %0, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tuple<tensor<4x8xf32>, tensor<4x8xf32>>
  %2 = fuse.get_tuple_element %1, index = 0 : (tuple<tensor<4x8xf32>, tensor<4x8xf32>>) -> tensor<4x8xf32>
  %3 = fuse.relu %2 : tensor<4x8xf32>
  func.return %3 : tensor<4x8xf32>
}
// CHECK-LABEL: func.func @explicit_tuple
// CHECK-NEXT:    func.call @fused_exp_tuple_get_tuple_element_relu(%x, %y)
// CHECK-NEXT:    func.return
