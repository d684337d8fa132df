// RUN: fuse-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// CHECK: 'fuse.sort' op expects numbers, got i1
func.func @booleans(%a: tensor<4xi1>) {
  %r = fuse.sort %a : (tensor<4xi1>)
  return
}

// -----

// CHECK: expects result 0 of type tensor<4xf32>, got tensor<5xf32>
func.func @result_of_another_size(%a: tensor<4xf32>) {
  %r = fuse.sort %a : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// CHECK: 'fuse.argsort' op expects axes in [-1, 1) for rank 1, got 1
func.func @axis_out_of_range(%a: tensor<4xf32>) {
  %r = fuse.argsort %a, axis = 1 : (tensor<4xf32>)
  return
}

// -----

// CHECK: expects result 0 of type tensor<4xi64>, got tensor<4xi16>
func.func @index_type(%a: tensor<4xf32>) {
  %r = fuse.argsort %a : (tensor<4xf32>) -> tensor<4xi16>
  return
}

// -----

// CHECK: 'fuse.topk' op expects k of at most 4, got 5
func.func @topk(%a: tensor<4xf32>) {
  %r, %s = fuse.topk %a, k = 5 : (tensor<4xf32>)
  return
}

// -----

// CHECK: 'fuse.cumsum' op expects axes in [-1, 1) for rank 1, got 2
func.func @cumsum(%a: tensor<4xf32>) {
  %r = fuse.cumsum %a, axis = 2 : (tensor<4xf32>)
  return
}

// -----

// CHECK: 'fuse.lrn' op expects floating-point elements, got i32
func.func @integers(%a: tensor<1x4xi32>) {
  %r = fuse.lrn %a : (tensor<1x4xi32>)
  return
}

// -----

// CHECK: 'fuse.lrn' op expects size of at least 1, got 0
func.func @window_of_nothing(%a: tensor<1x4xf32>) {
  %r = fuse.lrn %a, size = 0 : (tensor<1x4xf32>)
  return
}

// -----

// CHECK: expects result 0 of type tensor<4xf32>, got tensor<5xf32>
func.func @dropout(%a: tensor<4xf32>) {
  %r = fuse.dropout %a : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// CHECK: expects result 0 of type tensor<4xf32>, got tensor<4xf16>
func.func @stop_fusion(%a: tensor<4xf32>) {
  %r = fuse.stop_fusion %a : (tensor<4xf32>) -> tensor<4xf16>
  return
}

// -----

// CHECK: 'fuse.scatter_nd' op expects a last axis of 'indices' in [1, 1], got 2
func.func @too_many_coordinates(%a: tensor<4xf32>, %b: tensor<2x2xi64>, %c: tensor<2xf32>) {
  %r = fuse.scatter_nd %a, %b, %c : (tensor<4xf32>, tensor<2x2xi64>, tensor<2xf32>)
  return
}

// -----

// CHECK: 'fuse.scatter_nd' op expects operands that agree, got 2 and 3 (dimension 0: 2 vs 3)
func.func @updates(%a: tensor<4xf32>, %b: tensor<2x1xi64>, %c: tensor<3xf32>) {
  %r = fuse.scatter_nd %a, %b, %c : (tensor<4xf32>, tensor<2x1xi64>, tensor<3xf32>)
  return
}

// -----

// CHECK: 'fuse.scatter_nd' op expects mode to be 'update' or 'add' or 'mul' or 'min' or 'max', got 'none'
func.func @unknown_mode(%a: tensor<4xf32>, %b: tensor<2x1xi64>, %c: tensor<2xf32>) {
  %r = fuse.scatter_nd %a, %b, %c, mode = "none" : (tensor<4xf32>, tensor<2x1xi64>, tensor<2xf32>)
  return
}

// -----

// CHECK: expects a result of 4 elements, got 5
func.func @number_of_elements() {
  %r = fuse.arange stop = 4.0 -> tensor<5xf32>
  return
}

// -----

// CHECK: expects finite numbers and a step other than 0, got 0.0, 4.0, 0.0
func.func @step_zero() {
  %r = fuse.arange stop = 4.0, step = 0.0 -> tensor<4xf32>
  return
}

// -----

// CHECK: 'fuse.arange' op needs its result types spelled out: '-> type'
func.func @type_left_out() {
  %r = fuse.arange stop = 4.0
  return
}

// -----

// CHECK: expects result 0 of type tensor<?x2xi64>, got tensor<?x3xi64>
func.func @argwhere(%a: tensor<2x3xf32>) {
  %r = fuse.argwhere %a : (tensor<2x3xf32>) -> tensor<?x3xi64>
  return
}
