// RUN: fuse-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// CHECK: expects floating-point elements, got i32
func.func @integers(%x: tensor<2xi32>) {
  %y = fuse.exp %x : tensor<2xi32>
  return
}

// -----

// CHECK: expects numbers, got i1
func.func @booleans(%x: tensor<2xi1>) {
  %y = fuse.abs %x : tensor<2xi1>
  return
}

// -----

// CHECK: expects 'input' of i1 elements, got f32
func.func @not_of_numbers(%x: tensor<2xf32>) {
  %y = fuse.logical_not %x : tensor<2xf32>
  return
}

// -----

// CHECK: unsupported element type index
func.func @index_elements(%x: tensor<2xindex>) {
  %y = fuse.abs %x : tensor<2xindex>
  return
}

// -----

// CHECK: expects ranked tensors, got f32
func.func @no_tensor(%x: f32) {
  %y = fuse.exp %x : f32
  return
}

// -----

// CHECK: expects result 0 of type tensor<2x?xf32>, got tensor<3x?xf32>
func.func @result_shape(%x: tensor<2x?xf32>) {
  %y = fuse.exp %x : (tensor<2x?xf32>) -> tensor<3x?xf32>
  return
}

// -----

// CHECK: expects result 0 of type tensor<2xi1>, got tensor<2xf32>
func.func @result_element(%x: tensor<2xf32>) {
  %y = fuse.isnan %x : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// CHECK: expects 1 operands, got 2
func.func @two_operands(%x: tensor<2xf32>) {
  %y = fuse.exp %x, %x : tensor<2xf32>
  return
}

// -----

// CHECK: 'fuse.exp' op property 'alpha': the op has no properties
func.func @unknown_property(%x: tensor<2xf32>) {
  %y = fuse.exp %x, alpha = 1.0 : tensor<2xf32>
  return
}

// -----

// CHECK: 'fuse.exp' op expects ':' and a type after its operands
func.func @type_is_missing(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = fuse.exp %x
  return %y : tensor<4xf32>
}
