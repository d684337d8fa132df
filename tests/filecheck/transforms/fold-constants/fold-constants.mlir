// RUN: fuse-opt %s --fold-constants | filecheck %s

// What a chain of ops computes from constants is one constant; those that it was computed from are gone.
// CHECK-LABEL: func.func @chain
// CHECK-NEXT:    %y = arith.constant {layer = "head"} dense<[5.000000e-01, 2.500000e-01]> : tensor<2xf32>
// CHECK-NEXT:    func.return %y
func.func @chain() -> tensor<2xf32> {
  %a = arith.constant dense<[2.0, 1.0]> : tensor<2xf32>
  %b = arith.constant dense<[4.0, -4.0]> : tensor<2xf32>
  %q = fuse.divide %a, %b : tensor<2xf32>
  %y = fuse.abs %q {layer = "head"} : tensor<2xf32>
  func.return %y : tensor<2xf32>
}

// Constants that others read stay, and unused ones go, wherever they come from.
// CHECK-LABEL: func.func @shared
// CHECK-NEXT:    %a = arith.constant dense<[2.000000e+00, 1.000000e+00]>
// CHECK-NEXT:    %b = arith.constant dense<[-2.000000e+00, -1.000000e+00]>
// CHECK-NEXT:    %y = fuse.add %x, %a
// CHECK-NEXT:    %z = fuse.add %y, %b
// CHECK-NEXT:    func.return %z
func.func @shared(%x: tensor<2xf32>) -> tensor<2xf32> {
  %unused = arith.constant dense<7.0> : tensor<2xf32>
  %a = arith.constant dense<[2.0, 1.0]> : tensor<2xf32>
  %b = fuse.negative %a : tensor<2xf32>
  %y = fuse.add %x, %a : tensor<2xf32>
  %z = fuse.add %y, %b : tensor<2xf32>
  func.return %z : tensor<2xf32>
}

// An op of several results becomes several constants.
// CHECK-LABEL: func.func @several_results
// CHECK-DAG:     [[ONE:%.*]] = arith.constant dense<1> : tensor<1xi64>
// CHECK-DAG:     [[REST:%.*]] = arith.constant dense<[2, 3]> : tensor<2xi64>
// CHECK-NOT:     fuse.
// CHECK:         func.return [[ONE]], [[REST]]
func.func @several_results() -> (tensor<1xi64>, tensor<2xi64>) {
  %a = arith.constant dense<[1, 2, 3]> : tensor<3xi64>
  %one, %rest = fuse.split %a, axis = 0, sizes = [1, 2] : (tensor<3xi64>) -> (tensor<1xi64>, tensor<2xi64>)
  func.return %one, %rest : tensor<1xi64>, tensor<2xi64>
}

// Splats stay splats, however large the tensor is that they stand for.
// CHECK-LABEL: func.func @splats
// CHECK-NEXT:    %y = arith.constant dense<3.000000e+00> : tensor<1000000x1000000xf32>
// CHECK-NEXT:    func.return %y
func.func @splats() -> tensor<1000000x1000000xf32> {
  %one = arith.constant dense<1.0> : tensor<f32>
  %two = arith.constant dense<2.0> : tensor<1000000xf32>
  %wide = fuse.full %one : (tensor<f32>) -> tensor<1000000x1000000xf32>
  %turned = fuse.transpose %wide, permutation = [1, 0] : tensor<1000000x1000000xf32>
  %y = fuse.add %turned, %two : (tensor<1000000x1000000xf32>, tensor<1000000xf32>) -> tensor<1000000x1000000xf32>
  func.return %y : tensor<1000000x1000000xf32>
}

// Constants are folded inside regions and in every block, also from outside of them.
// CHECK-LABEL: func.func @regions
// CHECK:         %y = arith.constant dense<-1.000000e+00>
// CHECK-NEXT:    scf.yield %y
// CHECK:       ^bb1:
// CHECK-NEXT:    %z = arith.constant dense<1.000000e+00>
func.func @regions(%c: i1) -> (tensor<2xf32>, tensor<2xf32>) {
  %a = arith.constant dense<1.0> : tensor<2xf32>
  %r = scf.if %c -> (tensor<2xf32>) {
    %y = fuse.negative %a : tensor<2xf32>
    scf.yield %y : tensor<2xf32>
  } else {
    scf.yield %a : tensor<2xf32>
  }
  cf.br ^bb1
^bb1:
  %z = fuse.abs %a : tensor<2xf32>
  func.return %r, %z : tensor<2xf32>, tensor<2xf32>
}
