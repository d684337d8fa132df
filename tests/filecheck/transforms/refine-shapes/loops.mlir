// RUN: fuse-opt %s --refine-shapes='sizes="n=5","b=1"' | filecheck %s

// Rows and a state that keeps its size are static in the loop and after it; a state that grows stays open.
// CHECK-LABEL: func.func @rows_and_states(%x: tensor<5x1x4xf32>
// CHECK-SAME:  -> (tensor<1x4xf32>, tensor<?x4xf32>, tensor<5x1x4xf32>)
func.func @rows_and_states(%x: tensor<?x?x4xf32> {fuse.sizes = ["n", "b", ""]}, %h: tensor<?x4xf32> {fuse.sizes = ["b", ""]}) -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x?x4xf32>) {
  // CHECK:      fuse.loop states(%h, %h : tensor<1x4xf32>, tensor<1x4xf32>) rows(%{{.*}} : tensor<5x1x4xf32>) -> (tensor<1x4xf32>, tensor<?x4xf32>, tensor<5x1x4xf32>)
  // CHECK-NEXT: ^bb0(%{{.*}}: tensor<i64>, %state: tensor<1x4xf32>, %grows: tensor<?x4xf32>, %row: tensor<1x4xf32>):
  // CHECK-NEXT:   %next = fuse.add %state, %row : tensor<1x4xf32>
  // CHECK-NEXT:   %more = fuse.concatenate %grows, %row : (tensor<?x4xf32>, tensor<1x4xf32>) -> tensor<?x4xf32>
  // CHECK-NEXT:   fuse.yield %next, %more, %next : tensor<1x4xf32>, tensor<?x4xf32>, tensor<1x4xf32>
  %e = fuse.exp %x : tensor<?x?x4xf32>
  %last, %longest, %all = fuse.loop states(%h, %h : tensor<?x4xf32>, tensor<?x4xf32>) rows(%e : tensor<?x?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x?x4xf32>) {
  ^bb0(%i: tensor<i64>, %state: tensor<?x4xf32>, %grows: tensor<?x4xf32>, %row: tensor<?x4xf32>):
    %next = fuse.add %state, %row : tensor<?x4xf32>
    %more = fuse.concatenate %grows, %row, axis = 0 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    fuse.yield %next, %more, %next : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>
  }
  // CHECK: %out = fuse.relu %{{.*}} : tensor<5x1x4xf32>
  %out = fuse.relu %all : tensor<?x?x4xf32>
  return %last, %longest, %out : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x?x4xf32>
}

// A loop in a loop, with an op of a computed shape.
// CHECK-LABEL: func.func @nested
func.func @nested(%n: tensor<i64>, %h: tensor<?x4xf32> {fuse.sizes = ["b", ""]}) -> tensor<?x4xf32> {
  // CHECK:     fuse.loop limit(%n : tensor<i64>) states(%h : tensor<1x4xf32>) -> (tensor<1x4xf32>)
  // CHECK:     fuse.loop limit(%n : tensor<i64>) states(%{{.*}} : tensor<1x4xf32>) -> (tensor<1x4xf32>)
  // CHECK-NOT: dyn_
  // CHECK:     fuse.reshape %{{.*}} : (tensor<1x4xf32>) -> tensor<2x2xf32>
  // CHECK-NOT: tensor<?
  %last = fuse.loop limit(%n : tensor<i64>) states(%h : tensor<?x4xf32>) -> (tensor<?x4xf32>) {
  ^bb0(%i: tensor<i64>, %outer: tensor<?x4xf32>):
    %inside = fuse.loop limit(%n : tensor<i64>) states(%outer : tensor<?x4xf32>) -> (tensor<?x4xf32>) {
    ^bb0(%j: tensor<i64>, %inner: tensor<?x4xf32>):
      %two = arith.constant dense<2> : tensor<2xi64>
      %square = fuse.dyn_reshape %inner, %two : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
      %shape = fuse.shape_of %inner : (tensor<?x4xf32>) -> tensor<2xi64>
      %back = fuse.dyn_reshape %square, %shape : (tensor<?x?xf32>, tensor<2xi64>) -> tensor<?x4xf32>
      fuse.yield %back : tensor<?x4xf32>
    }
    fuse.yield %inside : tensor<?x4xf32>
  }
  return %last : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @after_the_loops
func.func @after_the_loops() {
  func.return
}
