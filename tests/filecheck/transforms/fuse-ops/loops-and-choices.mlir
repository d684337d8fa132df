// RUN: fuse-opt %s --fuse-ops --split-input-file | filecheck %s

// What stands in the body of a loop fuses there; the loop stays where it is.
// CHECK-LABEL: func.func @main
// CHECK: %[[BEFORE:.*]] = func.call @fused_relu_exp(%x)
// CHECK-NEXT: %{{.*}}, %[[ALL:.*]] = fuse.loop states(%h : tensor<2x4xf32>) rows(%[[BEFORE]] : tensor<7x2x4xf32>)
// CHECK: %[[NEXT:.*]] = func.call @fused_add_tanh(%{{.*}}, %{{.*}})
// CHECK-NEXT: fuse.yield %[[NEXT]], %[[NEXT]]
// CHECK: func.call @fused_negative(%[[ALL]])
func.func @main(%h: tensor<2x4xf32>, %x: tensor<7x2x4xf32>) -> tensor<7x2x4xf32> {
  %relu = fuse.relu %x : tensor<7x2x4xf32>
  %exp = fuse.exp %relu : tensor<7x2x4xf32>
  %last, %all = fuse.loop states(%h : tensor<2x4xf32>) rows(%exp : tensor<7x2x4xf32>) -> (tensor<2x4xf32>, tensor<7x2x4xf32>) {
  ^bb0(%i: tensor<i64>, %state: tensor<2x4xf32>, %row: tensor<2x4xf32>):
    %sum = fuse.add %state, %row : tensor<2x4xf32>
    %next = fuse.tanh %sum : tensor<2x4xf32>
    fuse.yield %next, %next : tensor<2x4xf32>, tensor<2x4xf32>
  }
  %y = fuse.negative %all : tensor<7x2x4xf32>
  return %y : tensor<7x2x4xf32>
}

// -----

// A value that a branch captures is used outside of its group, so its producers do not fuse into the branch.
// CHECK-LABEL: func.func @branches
// CHECK: %[[X:.*]] = func.call @fused_exp(%x)
// CHECK-NEXT: fuse.if(%c : tensor<i1>)
// CHECK: func.call @fused_relu_sqrt(%[[X]])
// CHECK: } else {
// CHECK-NEXT: fuse.yield %[[X]]
func.func @branches(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %exp = fuse.exp %x : tensor<4xf32>
  %y = fuse.if(%c : tensor<i1>) -> (tensor<4xf32>) {
    %relu = fuse.relu %exp : tensor<4xf32>
    %root = fuse.sqrt %relu : tensor<4xf32>
    fuse.yield %root : tensor<4xf32>
  } else {
    fuse.yield %exp : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// An einsum is injective, as in Relay: elementwise ops fuse into it and it into what follows.
// CHECK-LABEL: func.func @sums
// CHECK: func.call @fused_relu_einsum_exp(%a, %b)
func.func @sums(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %relu = fuse.relu %a : tensor<2x3xf32>
  %sum = fuse.einsum %relu, %b, equation = "ij,jk->ik" : (tensor<2x3xf32>, tensor<3x4xf32>)
  %exp = fuse.exp %sum : tensor<2x4xf32>
  return %exp : tensor<2x4xf32>
}
