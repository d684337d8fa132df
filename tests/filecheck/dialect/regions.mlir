// RUN: FUSE_ROUNDTRIP

// The body takes the number of the iteration, the states, and a row of each tensor; what it yields beyond the states
// is stacked.
// CHECK-LABEL: func.func @a_loop_over_rows
func.func @a_loop_over_rows(%h: tensor<2x4xf32>, %x: tensor<7x2x4xf32>) -> (tensor<2x4xf32>, tensor<7x2x4xf32>) {
  // CHECK-NEXT: %last, %all = fuse.loop states(%h : tensor<2x4xf32>) rows(%x : tensor<7x2x4xf32>) -> (tensor<2x4xf32>, tensor<7x2x4xf32>) {
  // CHECK-NEXT: ^bb0(%i: tensor<i64>, %state: tensor<2x4xf32>, %row: tensor<2x4xf32>):
  %last, %all = fuse.loop states(%h : tensor<2x4xf32>) rows(%x : tensor<7x2x4xf32>) -> (tensor<2x4xf32>, tensor<7x2x4xf32>) {
  ^bb0(%i: tensor<i64>, %state: tensor<2x4xf32>, %row: tensor<2x4xf32>):
    %next = fuse.add %state, %row : tensor<2x4xf32>
    // CHECK: fuse.yield %next, %next : tensor<2x4xf32>, tensor<2x4xf32>
    fuse.yield %next, %next : tensor<2x4xf32>, tensor<2x4xf32>
  }
  return %last, %all : tensor<2x4xf32>, tensor<7x2x4xf32>
}

// A limit and conditions end a loop, too; regions see the values around them.
// CHECK-LABEL: func.func @a_loop_with_conditions
func.func @a_loop_with_conditions(%n: tensor<i64>, %go: tensor<i1>, %x: tensor<f32>, %end: tensor<f32>) -> tensor<f32> {
  // CHECK-NEXT: %last = fuse.loop limit(%n : tensor<i64>) while(%go : tensor<i1>) states(%x : tensor<f32>) -> (tensor<f32>) {
  %last = fuse.loop limit(%n : tensor<i64>) while(%go : tensor<i1>) states(%x : tensor<f32>) -> (tensor<f32>) {
  ^bb0(%i: tensor<i64>, %state: tensor<f32>):
    %next = fuse.add %state, %state : tensor<f32>
    %more = fuse.less %next, %end : (tensor<f32>, tensor<f32>) -> tensor<i1>
    // CHECK: fuse.yield while(%more : tensor<i1>) %next : tensor<f32>
    fuse.yield while(%more : tensor<i1>) %next : tensor<f32>
  }
  return %last : tensor<f32>
}

// One of two regions is run.
// CHECK-LABEL: func.func @a_choice
func.func @a_choice(%go: tensor<i1>, %x: tensor<3xf32>) -> tensor<3xf32> {
  // CHECK-NEXT: %y = fuse.if(%go : tensor<i1>) -> (tensor<3xf32>) {
  %y = fuse.if(%go : tensor<i1>) -> (tensor<3xf32>) {
    %r = fuse.relu %x : tensor<3xf32>
    fuse.yield %r : tensor<3xf32>
  // CHECK: } else {
  } else {
    // CHECK-NEXT: fuse.yield %x : tensor<3xf32>
    fuse.yield %x : tensor<3xf32>
  }
  return %y : tensor<3xf32>
}
