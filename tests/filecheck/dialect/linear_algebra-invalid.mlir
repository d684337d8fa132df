// RUN: fuse-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// CHECK: 'fuse.einsum' op expects an equation for 1 operands, got 2 terms in 'ij,jk->ik'
func.func @more_terms_than_operands(%a: tensor<2x3xf32>) {
  %r = fuse.einsum %a, equation = "ij,jk->ik" : (tensor<2x3xf32>)
  return
}

// -----

// CHECK: 'fuse.einsum' op expects a term of 2 labels, got 'ijk' in 'ijk->i'
func.func @more_labels_than_axes(%a: tensor<2x3xf32>) {
  %r = fuse.einsum %a, equation = "ijk->i" : (tensor<2x3xf32>)
  return
}

// -----

// CHECK: 'fuse.einsum' op expects labels of the operands in the result, got 'k' in 'ij->k'
func.func @a_label_from_nowhere(%a: tensor<2x3xf32>) {
  %r = fuse.einsum %a, equation = "ij->k" : (tensor<2x3xf32>)
  return
}

// -----

// CHECK: 'fuse.einsum' op expects each label once in the result, got 'i' twice in 'ij->ii'
func.func @a_label_twice(%a: tensor<2x3xf32>) {
  %r = fuse.einsum %a, equation = "ij->ii" : (tensor<2x3xf32>)
  return
}

// -----

// CHECK: 'fuse.einsum' op expects letters, ',', '->' and '...' in an equation, got '1' in 'i1->i'
func.func @no_letter(%a: tensor<2x3xf32>) {
  %r = fuse.einsum %a, equation = "i1->i" : (tensor<2x3xf32>)
  return
}

// -----

// CHECK: 'fuse.einsum' op expects equal sizes of the axes 'j', got 3 and 4
func.func @sizes_that_differ(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
  %r = fuse.einsum %a, %b, equation = "ij,jk->ik" : (tensor<2x3xf32>, tensor<4x5xf32>)
  return
}

// -----

// CHECK: 'fuse.det' op expects equal sizes of the last two axes, got 2 and 3
func.func @no_square(%a: tensor<2x3xf32>) {
  %r = fuse.det %a : (tensor<2x3xf32>)
  return
}

// -----

// CHECK: 'fuse.col2im' op expects equal sizes of the last axis and the blocks of the image, got 8 and 9
func.func @missing_block(%a: tensor<1x8x8xf32>) {
  %r = fuse.col2im %a, image_shape = [4, 4], block_shape = [2, 2], strides = [1, 1], padding = [0, 0, 0, 0], dilation = [1, 1] : (tensor<1x8x8xf32>)
  return
}
