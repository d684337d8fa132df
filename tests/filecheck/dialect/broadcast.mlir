// RUN: FUSE_ROUNDTRIP

// One type stands for all when operands and result share it.
// CHECK-LABEL: func.func @one_type
func.func @one_type(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) {
  // CHECK-NEXT: %add = fuse.add %a, %b : tensor<4x8xf32>
  %add = fuse.add %a, %b : tensor<4x8xf32>
  // CHECK-NEXT: %subtract = fuse.subtract %a, %b : tensor<4x8xf32>
  %subtract = fuse.subtract %a, %b : tensor<4x8xf32>
  // CHECK-NEXT: %multiply = fuse.multiply %a, %b : tensor<4x8xf32>
  %multiply = fuse.multiply %a, %b : tensor<4x8xf32>
  // CHECK-NEXT: %divide = fuse.divide %a, %b : tensor<4x8xf32>
  %divide = fuse.divide %a, %b : tensor<4x8xf32>
  // CHECK-NEXT: %floor_divide = fuse.floor_divide %a, %b : tensor<4x8xf32>
  %floor_divide = fuse.floor_divide %a, %b : tensor<4x8xf32>
  // CHECK-NEXT: %mod = fuse.mod %a, %b : tensor<4x8xf32>
  %mod = fuse.mod %a, %b : tensor<4x8xf32>
  // CHECK-NEXT: %power = fuse.power %a, %b : tensor<4x8xf32>
  %power = fuse.power %a, %b : tensor<4x8xf32>
  // CHECK-NEXT: %maximum = fuse.maximum %a, %b : tensor<4x8xf32>
  %maximum = fuse.maximum %a, %b : tensor<4x8xf32>
  // CHECK-NEXT: %minimum = fuse.minimum %a, %b : tensor<4x8xf32>
  %minimum = fuse.minimum %a, %b : tensor<4x8xf32>
  return
}

// Integers have the same arithmetic.
// CHECK-LABEL: func.func @integers
func.func @integers(%a: tensor<3xi32>, %b: tensor<3xi32>, %u: tensor<2xui8>) {
  // CHECK-NEXT: %divide = fuse.divide %a, %b : tensor<3xi32>
  %divide = fuse.divide %a, %b : tensor<3xi32>
  // CHECK-NEXT: %mod = fuse.mod %a, %b, fmod = true : tensor<3xi32>
  %mod = fuse.mod %a, %b, fmod = true : tensor<3xi32>
  // CHECK-NEXT: %floor_divide = fuse.floor_divide %u, %u : tensor<2xui8>
  %floor_divide = fuse.floor_divide %u, %u : tensor<2xui8>
  return
}

// Shapes broadcast; the result type may be left out.
// CHECK-LABEL: func.func @broadcasting
func.func @broadcasting(%a: tensor<4x1xf32>, %b: tensor<8xf32>, %s: tensor<f32>) {
  // CHECK-NEXT: %outer = fuse.add %a, %b : (tensor<4x1xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %outer = fuse.add %a, %b : (tensor<4x1xf32>, tensor<8xf32>)
  // CHECK-NEXT: %scalar = fuse.multiply %a, %s : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %scalar = fuse.multiply %a, %s : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  // CHECK-NEXT: %left = fuse.subtract %s, %b : (tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
  %left = fuse.subtract %s, %b : (tensor<f32>, tensor<8xf32>)
  return
}

// A size above 1 decides a dynamic one.
// CHECK-LABEL: func.func @dynamic
func.func @dynamic(%a: tensor<?x8xf32>, %b: tensor<4x1xf32>, %c: tensor<?x1xf32>) {
  // CHECK-NEXT: %known = fuse.add %a, %b : (tensor<?x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %known = fuse.add %a, %b : (tensor<?x8xf32>, tensor<4x1xf32>)
  // CHECK-NEXT: %unknown = fuse.maximum %a, %c : (tensor<?x8xf32>, tensor<?x1xf32>) -> tensor<?x8xf32>
  %unknown = fuse.maximum %a, %c : (tensor<?x8xf32>, tensor<?x1xf32>)
  // CHECK-NEXT: %same = fuse.minimum %a, %a : tensor<?x8xf32>
  %same = fuse.minimum %a, %a : tensor<?x8xf32>
  return
}

// A result type that knows more than the operands is spelled out.
// CHECK-LABEL: func.func @refined
func.func @refined(%a: tensor<?xf32>) {
  // CHECK-NEXT: %y = fuse.add %a, %a : (tensor<?xf32>, tensor<?xf32>) -> tensor<8xf32>
  %y = fuse.add %a, %a : (tensor<?xf32>, tensor<?xf32>) -> tensor<8xf32>
  return
}

// The exponent may have another element type.
// CHECK-LABEL: func.func @power
func.func @power(%a: tensor<4x8xf32>, %n: tensor<i64>) {
  // CHECK-NEXT: %y = fuse.power %a, %n : (tensor<4x8xf32>, tensor<i64>) -> tensor<4x8xf32>
  %y = fuse.power %a, %n : (tensor<4x8xf32>, tensor<i64>)
  return
}

// Three operands broadcast.
// CHECK-LABEL: func.func @where
func.func @where(%c: tensor<4x1xi1>, %a: tensor<8xi32>, %b: tensor<i32>, %t: tensor<2xi1>) {
  // CHECK-NEXT: %y = fuse.where %c, %a, %b : (tensor<4x1xi1>, tensor<8xi32>, tensor<i32>) -> tensor<4x8xi32>
  %y = fuse.where %c, %a, %b : (tensor<4x1xi1>, tensor<8xi32>, tensor<i32>)
  // CHECK-NEXT: %z = fuse.where %t, %t, %t : tensor<2xi1>
  %z = fuse.where %t, %t, %t : tensor<2xi1>
  return
}

// A vector runs along an axis, counted from either end.
// CHECK-LABEL: func.func @channels
func.func @channels(%x: tensor<1x4x?x8xf32>, %c: tensor<4xf32>, %d: tensor<?xf32>, %e: tensor<8xf32>) {
  // CHECK-NEXT: %bias_add = fuse.bias_add %x, %c : (tensor<1x4x?x8xf32>, tensor<4xf32>) -> tensor<1x4x?x8xf32>
  %bias_add = fuse.bias_add %x, %c : (tensor<1x4x?x8xf32>, tensor<4xf32>)
  // CHECK-NEXT: %last = fuse.bias_add %x, %e, axis = -1 : (tensor<1x4x?x8xf32>, tensor<8xf32>) -> tensor<1x4x?x8xf32>
  %last = fuse.bias_add %x, %e, axis = -1 : (tensor<1x4x?x8xf32>, tensor<8xf32>) -> tensor<1x4x?x8xf32>
  // CHECK-NEXT: %prelu = fuse.prelu %x, %c : (tensor<1x4x?x8xf32>, tensor<4xf32>) -> tensor<1x4x?x8xf32>
  %prelu = fuse.prelu %x, %c : (tensor<1x4x?x8xf32>, tensor<4xf32>)
  // CHECK-NEXT: %third = fuse.prelu %x, %d, axis = 2 : (tensor<1x4x?x8xf32>, tensor<?xf32>) -> tensor<1x4x?x8xf32>
  %third = fuse.prelu %x, %d, axis = 2 : (tensor<1x4x?x8xf32>, tensor<?xf32>)
  return
}
