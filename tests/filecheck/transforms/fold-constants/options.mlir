// RUN: fuse-opt %s --fold-constants="max-bytes=24" | filecheck %s
// RUN: fuse-opt %s --fold-constants="max-total-bytes=7" | filecheck %s --check-prefix=TOTAL

// A result may be larger than what it is computed from by the budget, and the budget in all counts every op.
// CHECK-LABEL: func.func @grown
// CHECK-NOT:     fuse.
// CHECK:         arith.constant dense<[1.000000e+00, 1.000000e+00, 2.000000e+00, 2.000000e+00]>
// CHECK:         fuse.repeat {{.*}} repeats = 8
// TOTAL-LABEL: func.func @grown
// TOTAL:         fuse.repeat {{.*}} repeats = 2
// TOTAL:         fuse.repeat {{.*}} repeats = 8
func.func @grown() -> (tensor<4xf32>, tensor<16xf32>) {
  %a = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = arith.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %y = fuse.repeat %a, repeats = 2 : (tensor<2xf32>) -> tensor<4xf32>
  %z = fuse.repeat %b, repeats = 8 : (tensor<2xf32>) -> tensor<16xf32>
  func.return %y, %z : tensor<4xf32>, tensor<16xf32>
}

// What nobody else reads makes room for the result: a transposed weight costs nothing.
// CHECK-LABEL: func.func @replaced
// CHECK-NOT:     fuse.
// CHECK:         func.return
// TOTAL-LABEL: func.func @replaced
// TOTAL-NOT:     fuse.
// TOTAL:         func.return
func.func @replaced() -> tensor<2x4xf32> {
  %a = arith.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf32>
  %y = fuse.transpose %a, permutation = [1, 0] : (tensor<4x2xf32>) -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// Beside an operand that stays, the result takes room.
// CHECK-LABEL: func.func @kept
// CHECK:         fuse.transpose
func.func @kept() -> (tensor<4x2xf32>, tensor<2x4xf32>) {
  %a = arith.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf32>
  %y = fuse.transpose %a, permutation = [1, 0] : (tensor<4x2xf32>) -> tensor<2x4xf32>
  func.return %a, %y : tensor<4x2xf32>, tensor<2x4xf32>
}
