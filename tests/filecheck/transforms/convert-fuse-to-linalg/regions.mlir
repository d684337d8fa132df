// RUN: fuse-opt %s --convert-fuse-to-linalg | filecheck %s
// RUN: fuse-opt %s --fuse-ops --convert-fuse-to-linalg | filecheck %s --check-prefix=FUSED

// CHECK-LABEL: func.func @choice
// CHECK:         [[GO:%.*]] = tensor.extract %go[] : tensor<i1>
// CHECK-NEXT:    %y = scf.if [[GO]] -> (tensor<3xf32>) {
// CHECK:           linalg.generic
// CHECK:           scf.yield
// CHECK:         } else {
// CHECK-NEXT:      scf.yield %x : tensor<3xf32>
func.func @choice(%go: tensor<i1>, %x: tensor<3xf32>) -> tensor<3xf32> {
  %y = fuse.if(%go : tensor<i1>) -> (tensor<3xf32>) {
    %r = fuse.relu %x : tensor<3xf32>
    fuse.yield %r : tensor<3xf32>
  } else {
    fuse.yield %x : tensor<3xf32>
  }
  func.return %y : tensor<3xf32>
}

// A loop over rows ends with them.
// CHECK-LABEL: func.func @rows
// CHECK:         scf.for
// CHECK:           tensor.extract_slice %x[
// CHECK:           linalg.generic
// CHECK:           scf.yield
// FUSED: func.func private @fused_add(%state: tensor<4xf32>, %row: tensor<4xf32>) -> tensor<4xf32> attributes {primitive, noinline}
func.func @rows(%h: tensor<4xf32>, %x: tensor<7x4xf32>) -> tensor<4xf32> {
  %last = fuse.loop states(%h : tensor<4xf32>) rows(%x : tensor<7x4xf32>) -> (tensor<4xf32>) {
  ^bb0(%i: tensor<i64>, %state: tensor<4xf32>, %row: tensor<4xf32>):
    %next = fuse.add %state, %row : tensor<4xf32>
    fuse.yield %next : tensor<4xf32>
  }
  func.return %last : tensor<4xf32>
}

// IREE cannot call what is inside a loop with conditions.
// CHECK-LABEL: func.func @conditions
// CHECK:         scf.while
// CHECK:           scf.condition
// CHECK:           arith.cmpf olt
// CHECK:           scf.yield
// FUSED: func.func private @fused_exp({{.*}} attributes {primitive} {
func.func @conditions(%x: tensor<f32>, %end: tensor<f32>) -> tensor<f32> {
  %last = fuse.loop states(%x : tensor<f32>) -> (tensor<f32>) {
  ^bb0(%i: tensor<i64>, %state: tensor<f32>):
    %next = fuse.exp %state : tensor<f32>
    %more = fuse.less %next, %end : (tensor<f32>, tensor<f32>) -> tensor<i1>
    fuse.yield while(%more : tensor<i1>) %next : tensor<f32>
  }
  func.return %last : tensor<f32>
}
