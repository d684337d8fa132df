// RUN: fuse-opt %s --convert-stablehlo-to-fuse="strict=true" | filecheck %s

// A product turns its right side only if it has to, and a scalar is spread without a detour.
// CHECK-LABEL: func.func @layer
func.func @layer(%x: tensor<8x16xf32>, %w: tensor<4x16xf32>) -> tensor<8x4xf32> {
  // CHECK-NEXT: [[P:%.*]] = fuse.matmul %x, %w, transpose_b = true
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<8x16xf32>, tensor<4x16xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: [[C:%.*]] = arith.constant dense<0.0
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  // CHECK-NEXT: [[Z:%.*]] = fuse.full [[C]]
  %z = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<8x4xf32>
  // CHECK-NEXT: fuse.maximum [[P]], [[Z]]
  %1 = stablehlo.maximum %0, %z : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// The start of a reduction vanishes if it changes nothing.
// CHECK-LABEL: func.func @reductions
func.func @reductions(%x: tensor<8x4xf32>, %s: tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %inf = stablehlo.constant dense<0xFF800000> : tensor<f32>
  // CHECK: [[M:%.*]] = fuse.max %x, axes = [1]
  %0 = stablehlo.reduce(%x init: %inf) applies stablehlo.maximum across dimensions = [1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
  // CHECK-NEXT: [[T:%.*]] = fuse.sum %x, axes = [1]
  // CHECK-NEXT: [[U:%.*]] = fuse.add [[T]], %s
  %1 = stablehlo.reduce(%x init: %s) applies stablehlo.add across dimensions = [1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
  // CHECK-NEXT: func.return [[M]], [[U]]
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// A loop asks before its first iteration, and each iteration asks whether there is another.
// CHECK-LABEL: func.func @loop
func.func @loop(%x: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {
  // CHECK-NEXT: [[ZERO:%.*]] = arith.constant dense<0>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  // CHECK:      [[FIRST:%.*]] = fuse.less [[ZERO]], %n
  // CHECK-NEXT: {{%.*}}, [[Y:%.*]] = fuse.loop while([[FIRST]] : tensor<i1>) states([[ZERO]], %x : tensor<i32>, tensor<4xf32>)
  %0:2 = stablehlo.while(%i = %c, %y = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    // CHECK-NEXT: ^bb0({{%.*}}: tensor<i64>, [[I:%.*]]: tensor<i32>, [[S:%.*]]: tensor<4xf32>):
    // CHECK-NEXT: [[NEXT:%.*]] = fuse.add [[I]],
    %next = stablehlo.add %i, %one : tensor<i32>
    // CHECK-NEXT: [[V:%.*]] = fuse.tanh [[S]]
    %z = stablehlo.tanh %y : tensor<4xf32>
    // CHECK-NEXT: [[MORE:%.*]] = fuse.less [[NEXT]], %n
    // CHECK-NEXT: fuse.yield while([[MORE]] : tensor<i1>) [[NEXT]], [[V]]
    stablehlo.return %next, %z : tensor<i32>, tensor<4xf32>
  }
  // CHECK: func.return [[Y]]
  return %0#1 : tensor<4xf32>
}

// One of three: branches within branches.
// CHECK-LABEL: func.func @choice
func.func @choice(%k: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: fuse.if
  // CHECK: fuse.sin
  // CHECK: fuse.if
  // CHECK: fuse.cos
  // CHECK: fuse.tan
  %0 = "stablehlo.case"(%k) ({
    %1 = stablehlo.sine %x : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }, {
    %1 = stablehlo.cosine %x : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }, {
    %1 = stablehlo.tan %x : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
