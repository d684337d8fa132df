// RUN: fuse-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// CHECK: 'fuse.dense' op expects equal sizes of the last axis of 'input' and of 'weight', got 3 and 5
func.func @inner_sizes(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
  %r = fuse.dense %a, %b : (tensor<2x3xf32>, tensor<4x5xf32>)
  return
}

// -----

// CHECK: 'fuse.dense' op expects 'weight' of rank 2, got rank 3 (4x3x1)
func.func @weight_rank(%a: tensor<2x3xf32>, %b: tensor<4x3x1xf32>) {
  %r = fuse.dense %a, %b : (tensor<2x3xf32>, tensor<4x3x1xf32>)
  return
}

// -----

// CHECK: 'fuse.dense' op expects 'input' of rank 1 or more, got rank 0 (scalar)
func.func @input_rank(%a: tensor<f32>, %b: tensor<4x3xf32>) {
  %r = fuse.dense %a, %b : (tensor<f32>, tensor<4x3xf32>)
  return
}

// -----

// CHECK: 'fuse.dense' op expects operands of one element type, got f32 and f64
func.func @element_types(%a: tensor<2x3xf32>, %b: tensor<4x3xf64>) {
  %r = fuse.dense %a, %b : (tensor<2x3xf32>, tensor<4x3xf64>)
  return
}

// -----

// CHECK: expects result 0 of type tensor<2x4xf32>, got tensor<2x3xf32>
func.func @result_of_another_size(%a: tensor<2x3xf32>, %b: tensor<4x3xf32>) {
  %r = fuse.dense %a, %b : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// CHECK: 'fuse.dense' op expects 2 operands, got 1
func.func @operand_missing(%a: tensor<2x3xf32>) {
  %r = fuse.dense %a : (tensor<2x3xf32>)
  return
}

// -----

// CHECK: 'fuse.matmul' op expects equal sizes of the inner axes of 2x3 and 4x5, got 3 and 4
func.func @inner_sizes_of_matrices(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
  %r = fuse.matmul %a, %b : (tensor<2x3xf32>, tensor<4x5xf32>)
  return
}

// -----

// CHECK: 'fuse.matmul' op expects 'lhs' of rank 2, got rank 3 (1x2x3)
func.func @matrices_alone(%a: tensor<1x2x3xf32>, %b: tensor<3x5xf32>) {
  %r = fuse.matmul %a, %b : (tensor<1x2x3xf32>, tensor<3x5xf32>)
  return
}

// -----

// CHECK: 'fuse.matmul' op expects numbers, got i1
func.func @booleans(%a: tensor<2x2xi1>, %b: tensor<2x2xi1>) {
  %r = fuse.matmul %a, %b : (tensor<2x2xi1>, tensor<2x2xi1>)
  return
}

// -----

// CHECK: 'fuse.batch_matmul' op expects an operand of rank 3 or more, got 2x3 and 3x5
func.func @two_matrices(%a: tensor<2x3xf32>, %b: tensor<3x5xf32>) {
  %r = fuse.batch_matmul %a, %b : (tensor<2x3xf32>, tensor<3x5xf32>)
  return
}

// -----

// CHECK: 'fuse.batch_matmul' op expects broadcast-compatible shapes, got 2 and 3 (dimension 0: 2 vs 3)
func.func @batches(%a: tensor<2x2x3xf32>, %b: tensor<3x3x5xf32>) {
  %r = fuse.batch_matmul %a, %b : (tensor<2x2x3xf32>, tensor<3x3x5xf32>)
  return
}

// -----

// CHECK: 'fuse.dense' op expects elements of i8 or ui8 with out_dtype = "i32", got f32
func.func @sums_of_floats(%a: tensor<2x3xui8>, %b: tensor<4x3xf32>) {
  %r = fuse.dense %a, %b, out_dtype = "i32" : (tensor<2x3xui8>, tensor<4x3xf32>)
  return
}

// -----

// CHECK: 'fuse.matmul' op expects out_dtype to be '' or 'i32', got 'i64'
func.func @wider_sums(%a: tensor<2x3xui8>, %b: tensor<3x4xi8>) {
  %r = fuse.matmul %a, %b, out_dtype = "i64" : (tensor<2x3xui8>, tensor<3x4xi8>)
  return
}
