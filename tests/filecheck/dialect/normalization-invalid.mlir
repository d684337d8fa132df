// RUN: fuse-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// CHECK: 'fuse.softmax' op expects floating-point elements, got i32
func.func @softmax(%a: tensor<4xi32>) {
  %r = fuse.softmax %a : (tensor<4xi32>)
  return
}

// -----

// CHECK: 'fuse.log_softmax' op expects axes in [-1, 1) for rank 1, got 1
func.func @log_softmax(%a: tensor<4xf32>) {
  %r = fuse.log_softmax %a, axis = 1 : (tensor<4xf32>)
  return
}

// -----

// CHECK: 'fuse.batch_norm' op expects equal sizes of the normalized axis and 'variance', got 3 and 2
func.func @channels(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<2xf32>) {
  %r = fuse.batch_norm %a, %b, %c, %d, %e : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2xf32>)
  return
}

// -----

// CHECK: 'fuse.batch_norm' op expects operands of one element type, got f32 and f64
func.func @element_types(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf64>, %e: tensor<3xf32>) {
  %r = fuse.batch_norm %a, %b, %c, %d, %e : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf64>, tensor<3xf32>)
  return
}

// -----

// CHECK: 'fuse.batch_norm' op expects axes in [-1, 1) for rank 1, got 1
func.func @axis_out_of_range(%a: tensor<3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<3xf32>) {
  %r = fuse.batch_norm %a, %b, %c, %d, %e : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

// CHECK: 'fuse.batch_norm' op expects 5 operands, got 2
func.func @operands_missing(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  %r = fuse.batch_norm %a, %b : (tensor<2x3xf32>, tensor<3xf32>)
  return
}

// -----

// CHECK: 'fuse.layer_norm' op expects equal sizes of the normalized axis and 'gamma', got 3 and 2
func.func @layer_norm(%a: tensor<2x3xf32>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  %r = fuse.layer_norm %a, %b, %c : (tensor<2x3xf32>, tensor<2xf32>, tensor<3xf32>)
  return
}

// -----

// CHECK: 'fuse.instance_norm' op expects floating-point elements, got i8
func.func @instance_norm(%a: tensor<2x3xi8>, %b: tensor<3xi8>, %c: tensor<3xi8>) {
  %r = fuse.instance_norm %a, %b, %c : (tensor<2x3xi8>, tensor<3xi8>, tensor<3xi8>)
  return
}

// -----

// CHECK: 'fuse.group_norm' op expects channels divisible by 2, got 3
func.func @group_norm(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>) {
  %r = fuse.group_norm %a, %b, %c, num_groups = 2 : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

// CHECK: 'fuse.one_hot' op expects integers in 'indices', got f32
func.func @indices_of_floats(%a: tensor<2xf32>, %b: tensor<f32>, %c: tensor<f32>) {
  %r = fuse.one_hot %a, %b, %c, depth = 2 : (tensor<2xf32>, tensor<f32>, tensor<f32>)
  return
}

// -----

// CHECK: 'fuse.one_hot' op expects 'on_value' of rank 0, got rank 1 (1)
func.func @value_with_elements(%a: tensor<2xi64>, %b: tensor<1xf32>, %c: tensor<f32>) {
  %r = fuse.one_hot %a, %b, %c, depth = 2 : (tensor<2xi64>, tensor<1xf32>, tensor<f32>)
  return
}

// -----

// CHECK: 'fuse.one_hot' op expects depth of at least 1, got 0
func.func @depth_zero(%a: tensor<2xi64>, %b: tensor<f32>, %c: tensor<f32>) {
  %r = fuse.one_hot %a, %b, %c, depth = 0 : (tensor<2xi64>, tensor<f32>, tensor<f32>)
  return
}
