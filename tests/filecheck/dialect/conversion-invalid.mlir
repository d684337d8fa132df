// RUN: fuse-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// CHECK: expects a result of type tensor<2x3xi32>, got tensor<3x2xi32>
func.func @cast_changes_shape(%x: tensor<2x3xf32>) {
  %y = fuse.cast %x : (tensor<2x3xf32>) -> tensor<3x2xi32>
  return
}

// -----

// CHECK: unsupported element type index
func.func @cast_to_index(%x: tensor<2xf32>) {
  %y = fuse.cast %x : (tensor<2xf32>) -> tensor<2xindex>
  return
}

// -----

// CHECK: expects 'fill' of rank 0, got rank 1 (2)
func.func @full_of_tensor(%x: tensor<2xf32>) {
  %y = fuse.full %x : (tensor<2xf32>) -> tensor<2x2xf32>
  return
}

// -----

// CHECK: expects a static result shape, got ?
func.func @full_of_unknown_size(%x: tensor<f32>) {
  %y = fuse.full %x : (tensor<f32>) -> tensor<?xf32>
  return
}

// -----

// CHECK: expects operands of one element type, got f32 and i32
func.func @full_of_another_type(%x: tensor<f32>) {
  %y = fuse.full %x : (tensor<f32>) -> tensor<2xi32>
  return
}

// -----

// CHECK: expects result 0 of type tensor<2xf32>, got tensor<2xi32>
func.func @zeros_of_another_type(%x: tensor<2xf32>) {
  %y = fuse.zeros_like %x : (tensor<2xf32>) -> tensor<2xi32>
  return
}
