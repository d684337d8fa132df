// RUN: fuse-opt %s --allow-unregistered-dialect --fuse-ops-hw="template=npu" | filecheck %s

// A template maps ops of any dialect, registered or not; unknown ops stay where they are, in their order.
fuse.hardware @npu source @mac {
  fuse.hardware_unit @mac kind "mac"
  fuse.hardware_unit @bias kind "bias"
  fuse.hardware_unit @act kind "activation"
  fuse.hardware_link @mac -> @bias
  fuse.hardware_link @bias -> @act
  fuse.hardware_map "stablehlo.dot_general" to ["mac"]
  fuse.hardware_map "stablehlo.add" to ["bias"] if "bias"
  fuse.hardware_map "stablehlo.tanh" to ["activation"]
  fuse.hardware_map "my.conv" to ["mac"]
  fuse.hardware_virtual "stablehlo.broadcast_in_dim"
}
func.func @main(%x: tensor<2x4xf32>, %w: tensor<4x4xf32>) -> tensor<2x4xf32> {
  %b = "stablehlo.constant"() <{value = dense<0.5> : tensor<4xf32>}> : () -> tensor<4xf32>
  %c = "stablehlo.broadcast_in_dim"(%b) <{broadcast_dimensions = array<i64: 1>}> : (tensor<4xf32>) -> tensor<2x4xf32>
  %d = "stablehlo.dot_general"(%x, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  "other.print"(%x) : (tensor<2x4xf32>) -> ()
  %s = "stablehlo.add"(%d, %c) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  "other.print"(%s) : (tensor<2x4xf32>) -> ()
  %t = "stablehlo.tanh"(%s) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %t : tensor<2x4xf32>
}
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    "other.print"(%x)
// CHECK-NEXT:    %s, %t = func.call @fused_broadcast_in_dim_dot_general_add_tanh(%x, %w)
// CHECK-NEXT:    "other.print"(%s)
// CHECK-NEXT:    func.return %t
// CHECK-LABEL: func.func private @fused_broadcast_in_dim_dot_general_add_tanh
// CHECK-NEXT:    %{{.*}} = stablehlo.constant
// CHECK-NEXT:    %{{.*}} = stablehlo.broadcast_in_dim
// CHECK-NEXT:    %{{.*}} = stablehlo.dot_general{{.*}} {fuse.unit = "mac"}
// CHECK-NEXT:    %{{.*}} = stablehlo.add{{.*}} {fuse.unit = "bias"}
// CHECK-NEXT:    %{{.*}} = stablehlo.tanh{{.*}} {fuse.unit = "act"}
// CHECK-NEXT:    func.return %s, %t

// A print that must come before the trip, and one that must come after it, are not swapped: here the trip would have to
// run between them and around them, so the sum is refused.
func.func @effects(%x: tensor<2x4xf32>, %w: tensor<4x4xf32>) -> tensor<2x4xf32> {
  %d = "stablehlo.dot_general"(%x, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  "other.print"(%d) : (tensor<2x4xf32>) -> ()
  %y = "other.read"() : () -> tensor<4xf32>
  %s = "stablehlo.add"(%d, %y) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  func.return %s : tensor<2x4xf32>
}
// CHECK-LABEL: func.func @effects
// CHECK-NEXT:    func.call @fused_dot_general(%x, %w)
// CHECK-NEXT:    "other.print"(%d)
// CHECK-NEXT:    "other.read"()
// CHECK-NEXT:    func.call @fused_add(%d, %y) {fuse.hardware_reason = "would-close-cycle: also reads %y, which may depend on the group"}

// A mapping says where an op could run; that it has no effects only its kind says.
func.func @own(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %a = "my.conv"(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %b = "my.conv"(%a) {fuse.pattern_kind = #fuse.pattern_kind<out_ewise_fusable>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %t = "stablehlo.tanh"(%b) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %t : tensor<2x4xf32>
}
// CHECK-LABEL: func.func @own
// CHECK-NEXT:    %a = "my.conv"(%x) {fuse.hardware_reason = "opaque: the op may have effects; a fuse.pattern_kind says that it has none"}
// CHECK-NEXT:    %t = func.call @fused_conv_tanh(%a)
