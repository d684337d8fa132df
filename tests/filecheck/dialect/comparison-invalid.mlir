// RUN: fuse-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// CHECK: expects operands of one element type, got f32 and i32
func.func @element_types(%a: tensor<2xf32>, %b: tensor<2xi32>) {
  %y = fuse.less %a, %b : (tensor<2xf32>, tensor<2xi32>)
  return
}

// -----

// CHECK: expects broadcast-compatible shapes, got 2 and 3 (dimension 0: 2 vs 3)
func.func @shapes(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  %y = fuse.equal %a, %b : (tensor<2xf32>, tensor<3xf32>)
  return
}

// -----

// CHECK: expects result 0 of type tensor<2xi1>, got tensor<2xf32>
func.func @result(%a: tensor<2xf32>) {
  %y = fuse.equal %a, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// CHECK: expects 'lhs' of i1 elements, got i8
func.func @logic_of_numbers(%a: tensor<2xi8>) {
  %y = fuse.logical_and %a, %a : tensor<2xi8>
  return
}

// -----

// CHECK: expects integers in 'lhs', got f32
func.func @bits_of_floats(%a: tensor<2xf32>) {
  %y = fuse.bitwise_or %a, %a : tensor<2xf32>
  return
}

// -----

// CHECK: expects integers in 'lhs', got i1
func.func @shift_of_booleans(%a: tensor<2xi1>) {
  %y = fuse.left_shift %a, %a : tensor<2xi1>
  return
}

// -----

// CHECK: expects 'outside' to be a number of i8, got 1000.0
func.func @band_of_large_numbers() {
  %y = fuse.band lower = -2, upper = 0, outside = 1000.0 -> tensor<4x6xi8>
  return
}

// -----

// CHECK: expects 'result' of rank 2, got rank 3 (1x4x6)
func.func @band_of_batches() {
  %y = fuse.band lower = -2, upper = 0 -> tensor<1x4x6xi1>
  return
}

// -----

// CHECK: expects a static result shape, got 4x?
func.func @band_of_open_size() {
  %y = fuse.band lower = -2, upper = 0 -> tensor<4x?xi1>
  return
}
