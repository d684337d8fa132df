// RUN: fuse-opt %s --allow-unregistered-dialect --fuse-ops | filecheck %s
// RUN: fuse-opt %s --allow-unregistered-dialect --fuse-ops-hw | filecheck %s

// Nothing is fused inside an op that may be a symbol table: a call there could not name a function outside.
func.func @main(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  %q = "unknown.if"(%c) ({
    %i = fuse.relu %x : tensor<4xf32>
    "unknown.yield"(%i) : (tensor<4xf32>) -> ()
  }) : (i1) -> (tensor<4xf32>)
  func.return %q : tensor<4xf32>
}
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %q = "unknown.if"(%c) ({
// CHECK-NEXT:      %i = fuse.relu %x
