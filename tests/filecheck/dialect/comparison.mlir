// RUN: FUSE_ROUNDTRIP

// Comparisons give i1 and broadcast.
// CHECK-LABEL: func.func @comparisons
func.func @comparisons(%a: tensor<4x1xf32>, %b: tensor<?xf32>) {
  // CHECK-NEXT: %equal = fuse.equal %a, %b : (tensor<4x1xf32>, tensor<?xf32>) -> tensor<4x?xi1>
  %equal = fuse.equal %a, %b : (tensor<4x1xf32>, tensor<?xf32>)
  // CHECK-NEXT: %not_equal = fuse.not_equal %a, %b : (tensor<4x1xf32>, tensor<?xf32>) -> tensor<4x?xi1>
  %not_equal = fuse.not_equal %a, %b : (tensor<4x1xf32>, tensor<?xf32>)
  // CHECK-NEXT: %less = fuse.less %a, %b : (tensor<4x1xf32>, tensor<?xf32>) -> tensor<4x?xi1>
  %less = fuse.less %a, %b : (tensor<4x1xf32>, tensor<?xf32>)
  // CHECK-NEXT: %less_equal = fuse.less_equal %a, %b : (tensor<4x1xf32>, tensor<?xf32>) -> tensor<4x?xi1>
  %less_equal = fuse.less_equal %a, %b : (tensor<4x1xf32>, tensor<?xf32>)
  // CHECK-NEXT: %greater = fuse.greater %a, %b : (tensor<4x1xf32>, tensor<?xf32>) -> tensor<4x?xi1>
  %greater = fuse.greater %a, %b : (tensor<4x1xf32>, tensor<?xf32>)
  // CHECK-NEXT: %greater_equal = fuse.greater_equal %a, %b : (tensor<4x1xf32>, tensor<?xf32>) -> tensor<4x?xi1>
  %greater_equal = fuse.greater_equal %a, %b : (tensor<4x1xf32>, tensor<?xf32>)
  return
}

// All element types are compared; truth values keep one type.
// CHECK-LABEL: func.func @element_types
func.func @element_types(%n: tensor<2xi64>, %u: tensor<2xui16>, %b: tensor<2xi1>) {
  // CHECK-NEXT: %signed = fuse.less %n, %n : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
  %signed = fuse.less %n, %n : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
  // CHECK-NEXT: %unsigned = fuse.less %u, %u : (tensor<2xui16>, tensor<2xui16>) -> tensor<2xi1>
  %unsigned = fuse.less %u, %u : (tensor<2xui16>, tensor<2xui16>)
  // CHECK-NEXT: %booleans = fuse.equal %b, %b : tensor<2xi1>
  %booleans = fuse.equal %b, %b : tensor<2xi1>
  return
}

// Logic on truth values.
// CHECK-LABEL: func.func @logic
func.func @logic(%a: tensor<4x1xi1>, %b: tensor<4x1xi1>, %c: tensor<i1>) {
  // CHECK-NEXT: %logical_and = fuse.logical_and %a, %b : tensor<4x1xi1>
  %logical_and = fuse.logical_and %a, %b : tensor<4x1xi1>
  // CHECK-NEXT: %logical_or = fuse.logical_or %a, %b : tensor<4x1xi1>
  %logical_or = fuse.logical_or %a, %b : tensor<4x1xi1>
  // CHECK-NEXT: %logical_xor = fuse.logical_xor %a, %b : tensor<4x1xi1>
  %logical_xor = fuse.logical_xor %a, %b : tensor<4x1xi1>
  // CHECK-NEXT: %scalar = fuse.logical_and %a, %c : (tensor<4x1xi1>, tensor<i1>) -> tensor<4x1xi1>
  %scalar = fuse.logical_and %a, %c : (tensor<4x1xi1>, tensor<i1>)
  return
}

// Operations on the bits of integers.
// CHECK-LABEL: func.func @bits
func.func @bits(%a: tensor<?xui8>, %n: tensor<4x1xi32>, %k: tensor<3xi32>) {
  // CHECK-NEXT: %bitwise_and = fuse.bitwise_and %a, %a : tensor<?xui8>
  %bitwise_and = fuse.bitwise_and %a, %a : tensor<?xui8>
  // CHECK-NEXT: %bitwise_or = fuse.bitwise_or %a, %a : tensor<?xui8>
  %bitwise_or = fuse.bitwise_or %a, %a : tensor<?xui8>
  // CHECK-NEXT: %bitwise_xor = fuse.bitwise_xor %a, %a : tensor<?xui8>
  %bitwise_xor = fuse.bitwise_xor %a, %a : tensor<?xui8>
  // CHECK-NEXT: %left = fuse.left_shift %n, %k : (tensor<4x1xi32>, tensor<3xi32>) -> tensor<4x3xi32>
  %left = fuse.left_shift %n, %k : (tensor<4x1xi32>, tensor<3xi32>)
  // CHECK-NEXT: %right = fuse.right_shift %n, %k : (tensor<4x1xi32>, tensor<3xi32>) -> tensor<4x3xi32>
  %right = fuse.right_shift %n, %k : (tensor<4x1xi32>, tensor<3xi32>)
  return
}

// A mask that follows from positions has no operand.
// CHECK-LABEL: func.func @bands
func.func @bands() {
  // CHECK-NEXT: %band = fuse.band lower = -2, upper = 0 -> tensor<4x6xi1>
  %band = fuse.band lower = -2, upper = 0 -> tensor<4x6xi1>
  // CHECK-NEXT: %added = fuse.band lower = -2, upper = 0, inside = 0.0, outside = "-inf" -> tensor<4x6xf64>
  %added = fuse.band lower = -2, upper = 0, inside = 0.0, outside = "-inf" -> tensor<4x6xf64>
  return
}
