// RUN: fuse-opt %s --eliminate-common-subexpr --allow-unregistered-dialect | filecheck %s

// Another property, another attribute, operands the other way round: other ops.
// CHECK-LABEL: func.func @different
// CHECK-COUNT-6: fuse.
func.func @different(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a = fuse.leaky_relu %x, alpha = 0.0 : tensor<4xf32>
  %b = fuse.leaky_relu %x, alpha = -0.0 : tensor<4xf32>
  %c = fuse.exp %x : tensor<4xf32>
  %d = fuse.exp %x {layer = "head"} : tensor<4xf32>
  %e = fuse.subtract %x, %y : tensor<4xf32>
  %f = fuse.subtract %y, %x : tensor<4xf32>
  func.return %a, %b, %c, %d, %e, %f : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Nothing is known about ops of other dialects.
// CHECK-LABEL: func.func @unknown
// CHECK-COUNT-2: "mine.random"
func.func @unknown() -> (tensor<4xf32>, tensor<4xf32>) {
  %a = "mine.random"() : () -> tensor<4xf32>
  %b = "mine.random"() : () -> tensor<4xf32>
  func.return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// What one branch computes, the other has not computed, and blocks do not see their siblings.
// CHECK-LABEL: func.func @branches
// CHECK-COUNT-4: fuse.exp
func.func @branches(%c: i1, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %r = scf.if %c -> (tensor<4xf32>) {
    %a = fuse.exp %x : tensor<4xf32>
    scf.yield %a : tensor<4xf32>
  } else {
    %b = fuse.exp %x : tensor<4xf32>
    scf.yield %b : tensor<4xf32>
  }
  %d = fuse.exp %x : tensor<4xf32>
  cf.br ^bb1
^bb1:
  %e = fuse.exp %x : tensor<4xf32>
  func.return %r, %e : tensor<4xf32>, tensor<4xf32>
}

// Finished functions are left alone.
// CHECK-LABEL: func.func private @primitive
// CHECK-COUNT-2: fuse.exp
func.func private @primitive(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {primitive} {
  %a = fuse.exp %x : tensor<4xf32>
  %b = fuse.exp %x : tensor<4xf32>
  func.return %a, %b : tensor<4xf32>, tensor<4xf32>
}
