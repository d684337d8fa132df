// RUN: fuse-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// CHECK: 'fuse.add' op expects broadcast-compatible shapes, got 4x8 and 3x8 (dimension 0: 4 vs 3)
func.func @shapes(%a: tensor<4x8xf32>, %b: tensor<3x8xf32>) {
  %y = fuse.add %a, %b : (tensor<4x8xf32>, tensor<3x8xf32>)
  return
}

// -----

// CHECK: expects operands of one element type, got f32 and f16
func.func @element_types(%a: tensor<2xf32>, %b: tensor<2xf16>) {
  %y = fuse.multiply %a, %b : (tensor<2xf32>, tensor<2xf16>)
  return
}

// -----

// CHECK: expects numbers, got i1
func.func @booleans(%a: tensor<2xi1>) {
  %y = fuse.subtract %a, %a : tensor<2xi1>
  return
}

// -----

// CHECK: expects numbers, got i1
func.func @power_of_booleans(%a: tensor<2xf32>, %b: tensor<2xi1>) {
  %y = fuse.power %a, %b : (tensor<2xf32>, tensor<2xi1>)
  return
}

// -----

// CHECK: expects result 0 of type tensor<4x8xf32>, got tensor<4x1xf32>
func.func @result(%a: tensor<4x1xf32>, %b: tensor<8xf32>) {
  %y = fuse.add %a, %b : (tensor<4x1xf32>, tensor<8xf32>) -> tensor<4x1xf32>
  return
}

// -----

// CHECK: expects 'condition' of i1 elements, got f32
func.func @condition(%a: tensor<2xf32>) {
  %y = fuse.where %a, %a, %a : tensor<2xf32>
  return
}

// -----

// CHECK: expects operands of one element type, got f32 and i32
func.func @alternatives(%c: tensor<2xi1>, %a: tensor<2xf32>, %b: tensor<2xi32>) {
  %y = fuse.where %c, %a, %b : (tensor<2xi1>, tensor<2xf32>, tensor<2xi32>)
  return
}

// -----

// CHECK: expects broadcast-compatible shapes, got 3 and 2 (dimension 0: 3 vs 2)
func.func @condition_shape(%c: tensor<3xi1>, %a: tensor<2xf32>) {
  %y = fuse.where %c, %a, %a : (tensor<3xi1>, tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

// CHECK: expects equal sizes of axis 1 and 'bias', got 4 and 8
func.func @bias_size(%x: tensor<1x4x8xf32>, %c: tensor<8xf32>) {
  %y = fuse.bias_add %x, %c : (tensor<1x4x8xf32>, tensor<8xf32>)
  return
}

// -----

// CHECK: expects 'bias' of rank 1, got rank 2 (1x4)
func.func @bias_rank(%x: tensor<1x4xf32>, %c: tensor<1x4xf32>) {
  %y = fuse.bias_add %x, %c : (tensor<1x4xf32>, tensor<1x4xf32>)
  return
}

// -----

// CHECK: expects axes in [-1, 1) for rank 1, got 1
func.func @axis(%x: tensor<4xf32>, %c: tensor<4xf32>) {
  %y = fuse.bias_add %x, %c : (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// CHECK: expects operands of one element type, got f32 and f16
func.func @alpha_type(%x: tensor<1x4xf32>, %c: tensor<4xf16>) {
  %y = fuse.prelu %x, %c : (tensor<1x4xf32>, tensor<4xf16>)
  return
}
