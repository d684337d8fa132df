// RUN: fuse-opt --expand-einsum --split-input-file %s | filecheck %s

// Scores of attention: batches first, and the right operand in the order that the product takes.
// CHECK-LABEL: func.func @scores
// CHECK-NEXT:    %[[L:.*]] = fuse.transpose %q, permutation = [0, 2, 1, 3]
// CHECK-NEXT:    %[[A:.*]] = fuse.reshape %[[L]] : {{.*}} -> tensor<24x3x5xf32>
// CHECK-NEXT:    %[[R:.*]] = fuse.transpose %k, permutation = [0, 2, 3, 1]
// CHECK-NEXT:    %[[B:.*]] = fuse.reshape %[[R]] : {{.*}} -> tensor<24x5x7xf32>
// CHECK-NEXT:    %[[P:.*]] = fuse.batch_matmul %[[A]], %[[B]] :
// CHECK-NEXT:    %y = fuse.reshape %[[P]] : {{.*}} -> tensor<4x6x3x7xf32>
// CHECK-NEXT:    return %y
func.func @scores(%q: tensor<4x3x6x5xf32>, %k: tensor<4x7x6x5xf32>) -> tensor<4x6x3x7xf32> {
  %y = fuse.einsum %q, %k, equation = "bihd,bjhd->bhij" : (tensor<4x3x6x5xf32>, tensor<4x7x6x5xf32>) -> tensor<4x6x3x7xf32>
  return %y : tensor<4x6x3x7xf32>
}

// -----

// Columns before rows: the operands change places, and nothing is turned.
// CHECK-LABEL: func.func @swapped
// CHECK-NEXT:    %y = fuse.matmul %w, %x, transpose_b = true
// CHECK-NEXT:    return %y
func.func @swapped(%x: tensor<3x5xf32>, %w: tensor<7x5xf32>) -> tensor<7x3xf32> {
  %y = fuse.einsum %x, %w, equation = "ik,jk->ji" : (tensor<3x5xf32>, tensor<7x5xf32>) -> tensor<7x3xf32>
  return %y : tensor<7x3xf32>
}

// -----

// Left alone: an outer product, a label in one operand alone, a trace, one operand, an open size, a kind of its own.
// CHECK-LABEL: func.func @stay
// CHECK-COUNT-6: fuse.einsum
// CHECK-NOT:     matmul
func.func @stay(%a: tensor<3xf32>, %m: tensor<3x3xf32>, %o: tensor<?x3xf32>)
    -> (tensor<3x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<?x3xf32>, tensor<3x3xf32>) {
  %b = fuse.einsum %a, %a, equation = "i,j->ij" : (tensor<3xf32>, tensor<3xf32>) -> tensor<3x3xf32>
  %c = fuse.einsum %m, %m, equation = "ik,kj->i" : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3xf32>
  %d = fuse.einsum %m, %a, equation = "ii,i->i" : (tensor<3x3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %e = fuse.einsum %m, equation = "ij->" : (tensor<3x3xf32>) -> tensor<f32>
  %g = fuse.einsum %o, %m, equation = "ij,jk->ik" : (tensor<?x3xf32>, tensor<3x3xf32>) -> tensor<?x3xf32>
  %h = fuse.einsum %m, %m, equation = "ij,jk->ik" {fuse.pattern_kind = #fuse.pattern_kind<opaque>} : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  return %b, %c, %d, %e, %g, %h : tensor<3x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<?x3xf32>, tensor<3x3xf32>
}

// -----

// Three operands: the vector meets a matrix first, and no product of two matrices is made.
// CHECK-LABEL: func.func @three
// CHECK-COUNT-2: fuse.matmul {{.*}}-> tensor<{{[39]}}x1xf32>
// CHECK-NOT:     fuse.einsum
func.func @three(%x: tensor<3x9xf32>, %y: tensor<9x9xf32>, %v: tensor<9xf32>) -> tensor<3xf32> {
  %r = fuse.einsum %x, %y, %v, equation = "ij,jk,k->i" : (tensor<3x9xf32>, tensor<9x9xf32>, tensor<9xf32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}
