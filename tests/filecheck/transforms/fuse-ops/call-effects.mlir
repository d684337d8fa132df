// RUN: fuse-opt %s -p licm,cse,dce --allow-unregistered-dialect | filecheck %s
// RUN: xdsl-opt %s -p licm,cse,dce --allow-unregistered-dialect | filecheck %s

// Two equal calls of a primitive are one, one that does not depend on the loop leaves it, and an unused one goes.
func.func @primitive(%x: tensor<4xf32>, %n: index) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = func.call @exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = func.call @exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %c = func.call @exp(%b) : (tensor<4xf32>) -> tensor<4xf32>
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %zero to %n step %one iter_args(%s = %x) -> (tensor<4xf32>) {
    %d = func.call @exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %e = fuse.add %s, %d : tensor<4xf32>
    scf.yield %e : tensor<4xf32>
  }
  func.return %a, %r : tensor<4xf32>, tensor<4xf32>
}
// CHECK-LABEL: func.func @primitive
// CHECK:         %[[A:.*]] = func.call @exp(%x)
// CHECK-NOT:     func.call
// CHECK:         scf.for
// CHECK-NEXT:      fuse.add %s, %[[A]]

// A function that is no primitive may do anything.
func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = func.call @external(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = func.call @external(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %x : tensor<4xf32>
}
// CHECK-LABEL: func.func @other
// CHECK-NEXT:    func.call @external
// CHECK-NEXT:    func.call @external
// CHECK-NEXT:    func.return

// So may a primitive with an op that nobody knows.
func.func @unknown_inside(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = func.call @prints(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = func.call @prints(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %x : tensor<4xf32>
}
// CHECK-LABEL: func.func @unknown_inside
// CHECK-NEXT:    func.call @prints
// CHECK-NEXT:    func.call @prints
// CHECK-NEXT:    func.return

func.func private @exp(%x: tensor<4xf32>) -> tensor<4xf32> attributes {primitive} {
  %0 = fuse.exp %x : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
func.func private @prints(%x: tensor<4xf32>) -> tensor<4xf32> attributes {primitive} {
  "nobody.print"(%x) : (tensor<4xf32>) -> ()
  func.return %x : tensor<4xf32>
}
func.func private @external(tensor<4xf32>) -> tensor<4xf32>
