// RUN: fuse-opt %s --fuse-ops --allow-unregistered-dialect | filecheck %s

// The attribute gives any op of any dialect its kind, and stays on the op.
func.func @attribute_on_unregistered_ops(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "mine.conv"(%x) {fuse.pattern_kind = #fuse.pattern_kind<out_ewise_fusable>, tag = "kept"} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = "mine.act"(%0) {fuse.pattern_kind = #fuse.pattern_kind<elemwise>} : (tensor<8xf32>) -> tensor<8xf32>
  func.return %1 : tensor<8xf32>
}
// CHECK-LABEL: func.func @attribute_on_unregistered_ops
// CHECK-NEXT:    func.call @fused_conv_act(%x)
// CHECK-LABEL: func.func private @fused_conv_act
// CHECK-NEXT:    "mine.conv"(%x) {fuse.pattern_kind = #fuse.pattern_kind<out_ewise_fusable>, tag = "kept"}
// CHECK-NEXT:    "mine.act"

// It overrules what the op's class says.
func.func @attribute_before_trait(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = fuse.exp %x {fuse.pattern_kind = #fuse.pattern_kind<opaque>} : tensor<8xf32>
  %1 = fuse.tanh %0 : tensor<8xf32>
  func.return %1 : tensor<8xf32>
}
// CHECK-LABEL: func.func @attribute_before_trait
// CHECK-NEXT:    func.call @fused_exp(%x)
// CHECK-NEXT:    func.call @fused_tanh(

// A broadcast between equal shapes is elementwise, whatever the element types are.
func.func @broadcast_edge_of_equal_shapes(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xi1> {
  %0 = fuse.softmax %x : tensor<8xf32>
  %1 = fuse.less %0, %y : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  func.return %1 : tensor<8xi1>
}
// CHECK-LABEL: func.func @broadcast_edge_of_equal_shapes
// CHECK-NEXT:    func.call @fused_softmax_less(%x, %y)

// Constants: a scalar of a common type moves into its user's primitive, any other is an argument.
func.func @constants(%x: tensor<8xf32>, %n: tensor<8xi8>) -> (tensor<8xf32>, tensor<8xi8>) {
  %half = arith.constant dense<0.5> : tensor<f32>
  %row = arith.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]> : tensor<8xf32>
  %byte = arith.constant dense<1> : tensor<i8>
  %0 = fuse.multiply %x, %half : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = fuse.maximum %0, %row : tensor<8xf32>
  %2 = fuse.add %n, %byte : (tensor<8xi8>, tensor<i8>) -> tensor<8xi8>
  func.return %1, %2 : tensor<8xf32>, tensor<8xi8>
}
// CHECK-LABEL: func.func @constants
// CHECK-NEXT:    %row = arith.constant
// CHECK-NEXT:    %byte = arith.constant
// CHECK-NEXT:    func.call @fused_multiply_maximum(%x, %row)
// CHECK-NEXT:    func.call @fused_add(%n, %byte)
// CHECK-LABEL: func.func private @fused_multiply_maximum
// CHECK-NEXT:    %half = arith.constant dense<5.000000e-01> : tensor<f32>
