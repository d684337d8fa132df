// RUN: fuse-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// CHECK: expects axes in [-2, 2) for rank 2, got 2
func.func @axis(%x: tensor<4x8xf32>) {
  %y = fuse.sum %x, axes = [2] : (tensor<4x8xf32>)
  return
}

// -----

// CHECK: expects distinct axes, axis 1 is named twice
func.func @axis_twice(%x: tensor<4x8xf32>) {
  %y = fuse.sum %x, axes = [1, -1] : (tensor<4x8xf32>)
  return
}

// -----

// CHECK: expects numbers, got i1
func.func @booleans(%x: tensor<4xi1>) {
  %y = fuse.sum %x : (tensor<4xi1>)
  return
}

// -----

// CHECK: expects floating-point elements, got i32
func.func @variance_of_integers(%x: tensor<4xi32>) {
  %y = fuse.variance %x : (tensor<4xi32>)
  return
}

// -----

// CHECK: expects 'input' of i1 elements, got i8
func.func @any_of_numbers(%x: tensor<4xi8>) {
  %y = fuse.any %x : (tensor<4xi8>)
  return
}

// -----

// CHECK: expects result 0 of type tensor<8xf32>, got tensor<1x8xf32>
func.func @result(%x: tensor<4x8xf32>) {
  %y = fuse.max %x, axes = [0] : (tensor<4x8xf32>) -> tensor<1x8xf32>
  return
}

// -----

// CHECK: expects one axis or none, got axes {{\[}}0, 1]
func.func @two_axes(%x: tensor<4x8xf32>) {
  %y = fuse.argmax %x, axes = [0, 1] : (tensor<4x8xf32>)
  return
}

// -----

// CHECK: expects elements to choose from, got dimension 1 of size 0
func.func @nothing_to_choose(%x: tensor<4x0xf32>) {
  %y = fuse.argmin %x, axes = [1] : (tensor<4x0xf32>)
  return
}

// -----

// CHECK: expects result 0 of type tensor<i64>, got tensor<f32>
func.func @float_indices(%x: tensor<4xf32>) {
  %y = fuse.argmax %x, axes = [0] : (tensor<4xf32>) -> tensor<f32>
  return
}

// -----

// CHECK: expects result 0 of type tensor<8xi64> or tensor<8xi32>, got tensor<4xi32>
func.func @index_shape(%x: tensor<4x8xf32>) {
  %y = fuse.argmax %x, axes = [0] : (tensor<4x8xf32>) -> tensor<4xi32>
  return
}
