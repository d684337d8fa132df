// RUN: fuse-opt %s --fuse-ops --print-debuginfo | filecheck %s

// Names are unique in the module, also against symbols that are there already.
func.func private @fused_exp()

// Equal groups share one primitive, whatever their values are called.
func.func @equal_groups(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = fuse.exp %x : tensor<8xf32>
  %b = fuse.exp %y : tensor<8xf32>
  func.return %a, %b : tensor<8xf32>, tensor<8xf32>
}
// CHECK-LABEL: func.func @equal_groups
// CHECK-NEXT:    %a = func.call @fused_exp_0(%x)
// CHECK-NEXT:    %b = func.call @fused_exp_0(%y)

// Other types, attributes or wiring make another primitive.
func.func @other_groups(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a = fuse.exp %x : tensor<4xf32>
  %b = fuse.leaky_relu %x, alpha = 0.25 : tensor<4xf32>
  %c = fuse.leaky_relu %x : tensor<4xf32>
  %d = fuse.subtract %x, %x : tensor<4xf32>
  %e = fuse.subtract %x, %y : tensor<4xf32>
  func.return %a, %b, %c, %d, %e : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
// CHECK-LABEL: func.func @other_groups
// CHECK-NEXT:    func.call @fused_exp_1(%x)
// CHECK-NEXT:    func.call @fused_leaky_relu(%x)
// CHECK-NEXT:    func.call @fused_leaky_relu_0(%x)
// CHECK-NEXT:    func.call @fused_subtract(%x)
// CHECK-NEXT:    func.call @fused_subtract_0(%x, %y)

// Arguments stand in the order in which the operators, each after its operands, first read them.
func.func @argument_order(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = fuse.exp %y : tensor<4xf32>
  %1 = fuse.subtract %x, %0 : tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
// CHECK-LABEL: func.func @argument_order
// CHECK-NEXT:    func.call @fused_exp_subtract(%y, %x)

// Locations stay on the ops, and the call has that of its root.
func.func @locations(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = fuse.sin %x : tensor<4xf32> loc("layer1")
  %1 = fuse.cos %0 : tensor<4xf32> loc("layer2")
  func.return %1 : tensor<4xf32>
}
// CHECK-LABEL: func.func @locations
// CHECK-NEXT:    func.call @fused_sin_cos(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("layer2")
// CHECK-LABEL: func.func private @fused_sin_cos
// CHECK-NEXT:    fuse.sin %x : tensor<4xf32> loc("layer1")
// CHECK-NEXT:    fuse.cos {{.*}} loc("layer2")

// An operator that nothing reads is dead: it vanishes, and does not hinder its neighbours.
func.func @dead_code(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = fuse.tan %x : tensor<4xf32>
  %1 = fuse.sqrt %0 : tensor<4xf32>
  %2 = fuse.erf %0 : tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
// CHECK-LABEL: func.func @dead_code
// CHECK-NEXT:    func.call @fused_tan_erf(%x)
// CHECK-NEXT:    func.return

// Long names are cut, and say how many operators there are.
func.func @long_name(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = fuse.hard_sigmoid %x : tensor<4xf32>
  %1 = fuse.hard_sigmoid %0 : tensor<4xf32>
  %2 = fuse.hard_sigmoid %1 : tensor<4xf32>
  %3 = fuse.hard_sigmoid %2 : tensor<4xf32>
  %4 = fuse.hard_sigmoid %3 : tensor<4xf32>
  %5 = fuse.hard_sigmoid %4 : tensor<4xf32>
  %6 = fuse.hard_sigmoid %5 : tensor<4xf32>
  func.return %6 : tensor<4xf32>
}
// CHECK-LABEL: func.func @long_name
// CHECK-NEXT:    func.call @fused_hard_sigmoid_hard_sigmoid_{{[a-z_]*}}_etc7(%x)
