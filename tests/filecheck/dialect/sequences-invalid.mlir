// RUN: fuse-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// CHECK: 'fuse.cumprod' op expects numbers, got i1
func.func @booleans(%a: tensor<4xi1>) {
  %r = fuse.cumprod %a, axis = 0 : (tensor<4xi1>)
  return
}

// -----

// CHECK: 'fuse.reverse_sequence' op expects equal sizes of the batch axis and 'lengths', got 3 and 4
func.func @lengths_of_other_sequences(%a: tensor<3x5xf32>, %n: tensor<4xi64>) {
  %r = fuse.reverse_sequence %a, %n : (tensor<3x5xf32>, tensor<4xi64>)
  return
}

// -----

// CHECK: 'fuse.dft' op expects 1 on the last axis of a onesided input, got 2
func.func @half_of_a_complex_transform(%a: tensor<3x8x2xf32>) {
  %r = fuse.dft %a, onesided = true : (tensor<3x8x2xf32>)
  return
}

// -----

// CHECK: 'fuse.dft' op expects an axis other than the last, which holds real and imaginary parts
func.func @parts_as_a_line(%a: tensor<3x8x2xf32>) {
  %r = fuse.dft %a, axis = -1 : (tensor<3x8x2xf32>)
  return
}
