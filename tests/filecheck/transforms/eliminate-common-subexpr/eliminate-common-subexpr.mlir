// RUN: fuse-opt %s --eliminate-common-subexpr | filecheck %s

// Equal ops on equal operands are one, and so are the ops on their results.
// CHECK-LABEL: func.func @chains
// CHECK-NEXT:    %a = fuse.exp %x
// CHECK-NEXT:    %b = fuse.tanh %a
// CHECK-NEXT:    %y = fuse.add %b, %b
// CHECK-NEXT:    func.return %y
func.func @chains(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = fuse.exp %x : tensor<4xf32>
  %b = fuse.tanh %a : tensor<4xf32>
  %c = fuse.exp %x : tensor<4xf32>
  %d = fuse.tanh %c : tensor<4xf32>
  %y = fuse.add %b, %d : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// Constants are merged by their elements, and ops of several results as a whole.
// CHECK-LABEL: func.func @constants_and_results
// CHECK-NEXT:    [[C:%.*]] = arith.constant dense<1.000000e+00>
// CHECK-NEXT:    [[S:%.*]] = fuse.add %x, [[C]]
// CHECK-NEXT:    [[A:%.*]], [[B:%.*]] = fuse.split [[S]]
// CHECK-NEXT:    func.return [[A]], [[B]]
func.func @constants_and_results(%x: tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %c = arith.constant dense<1.0> : tensor<f32>
  %s = fuse.add %x, %c : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %a, %b = fuse.split %s, axis = 0, sizes = [2, 2] : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  %c2 = arith.constant dense<1.0> : tensor<f32>
  %s2 = fuse.add %x, %c2 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %a2, %b2 = fuse.split %s2, axis = 0, sizes = [2, 2] : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  func.return %a, %b2 : tensor<2xf32>, tensor<2xf32>
}

// Ops inside a region see those before it, in every block of the function.
// CHECK-LABEL: func.func @regions
// CHECK:       ^bb1:
// CHECK-NEXT:    %a = fuse.exp %x
// CHECK-NEXT:    scf.if
// CHECK-NEXT:      scf.yield %a
// CHECK-NEXT:    } else {
// CHECK-NEXT:      %t = fuse.tanh %x
// CHECK-NEXT:      scf.yield %t
func.func @regions(%c: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^bb1
^bb1:
  %a = fuse.exp %x : tensor<4xf32>
  %r = scf.if %c -> (tensor<4xf32>) {
    %b = fuse.exp %x : tensor<4xf32>
    scf.yield %b : tensor<4xf32>
  } else {
    %t = fuse.tanh %x : tensor<4xf32>
    scf.yield %t : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}
