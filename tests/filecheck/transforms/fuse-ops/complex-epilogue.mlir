// RUN: fuse-opt %s --fuse-ops | filecheck %s

// An anchor takes the elementwise consumers of its output.
func.func @chain_of_consumers(%x: tensor<1x16x8x8xf32>, %w: tensor<16x16x3x3xf32>, %b: tensor<16xf32>) -> tensor<1x16x8x8xf32> {
  %0 = fuse.conv2d %x, %w, padding = [1, 1, 1, 1] : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %1 = fuse.bias_add %0, %b : (tensor<1x16x8x8xf32>, tensor<16xf32>) -> tensor<1x16x8x8xf32>
  %2 = fuse.relu %1 : tensor<1x16x8x8xf32>
  func.return %2 : tensor<1x16x8x8xf32>
}
// CHECK-LABEL: func.func @chain_of_consumers
// CHECK-NEXT:    [[OUT:%.*]] = func.call @fused_conv2d_bias_add_relu(%x, %w, %b)
// CHECK-NEXT:    func.return [[OUT]]
// CHECK-LABEL: func.func private @fused_conv2d_bias_add_relu
// CHECK-SAME:    attributes {primitive}

// Both branches of a diamond join, because they meet in one post-dominator.
func.func @diamond(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = fuse.softmax %x : tensor<8x8xf32>
  %1 = fuse.exp %0 : tensor<8x8xf32>
  %2 = fuse.tanh %0 : tensor<8x8xf32>
  %3 = fuse.add %1, %2 : tensor<8x8xf32>
  func.return %3 : tensor<8x8xf32>
}
// CHECK-LABEL: func.func @diamond
// CHECK-NEXT:    func.call @fused_softmax_exp_tanh_add(%x)
// CHECK-NEXT:    func.return

// An operand that is broadcast beside the anchor's output does no harm: only the edge from the anchor counts.
func.func @broadcast_operand_on_the_other_side(%x: tensor<8x8xf32>, %row: tensor<8xf32>) -> tensor<8x8xf32> {
  %0 = fuse.softmax %x : tensor<8x8xf32>
  %1 = fuse.multiply %0, %row : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
  func.return %1 : tensor<8x8xf32>
}
// CHECK-LABEL: func.func @broadcast_operand_on_the_other_side
// CHECK-NEXT:    func.call @fused_softmax_multiply(%x, %row)
// CHECK-NEXT:    func.return
