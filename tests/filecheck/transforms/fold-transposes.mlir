// RUN: fuse-opt --fold-transposes --split-input-file %s | filecheck %s

// Keys as a cache has them, of any length.
// CHECK-LABEL: func.func @keys
// CHECK-NEXT:    %y = fuse.batch_matmul %q, %k, transpose_b = true : (tensor<?x8x1x32xf32>, tensor<?x8x?x32xf32>) -> tensor<?x8x1x?xf32>
// CHECK-NEXT:    return %y
func.func @keys(%q: tensor<?x8x1x32xf32>, %k: tensor<?x8x?x32xf32>) -> tensor<?x8x1x?xf32> {
  %t = fuse.transpose %k, permutation = [0, 1, 3, -2] : (tensor<?x8x?x32xf32>) -> tensor<?x8x32x?xf32>
  %y = fuse.batch_matmul %q, %t : (tensor<?x8x1x32xf32>, tensor<?x8x32x?xf32>) -> tensor<?x8x1x?xf32>
  return %y : tensor<?x8x1x?xf32>
}

// -----

// Two turns are none. The transpose has another reader.
// CHECK-LABEL: func.func @twice
// CHECK-NEXT:    %t = fuse.transpose
// CHECK-NEXT:    %y = fuse.matmul %x, %w : (tensor<3x4xf32>, tensor<4x5xf32>)
// CHECK-NEXT:    return %y, %t
func.func @twice(%x: tensor<3x4xf32>, %w: tensor<4x5xf32>) -> (tensor<3x5xf32>, tensor<5x4xf32>) {
  %t = fuse.transpose %w, permutation = [1, 0] : (tensor<4x5xf32>) -> tensor<5x4xf32>
  %y = fuse.matmul %x, %t, transpose_b = true : (tensor<3x4xf32>, tensor<5x4xf32>) -> tensor<3x5xf32>
  return %y, %t : tensor<3x5xf32>, tensor<5x4xf32>
}

// -----

// Left alone: the left operand, a transpose that moves batches, sums of bytes, kinds of their own.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-5: fuse.transpose
// CHECK:         return
func.func @others(%x: tensor<2x4x4xf32>, %o: tensor<1x4x2xf32>, %i: tensor<4x4xi8>) -> (tensor<2x4x4xf32>, tensor<4x4x4xf32>, tensor<4x4xi32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>) {
  %a = fuse.transpose %x, permutation = [0, 2, 1] : tensor<2x4x4xf32>
  %p = fuse.batch_matmul %a, %x : tensor<2x4x4xf32>
  %b = fuse.transpose %x, permutation = [1, 0, 2] : (tensor<2x4x4xf32>) -> tensor<4x2x4xf32>
  %q = fuse.batch_matmul %o, %b : (tensor<1x4x2xf32>, tensor<4x2x4xf32>) -> tensor<4x4x4xf32>
  %c = fuse.transpose %i, permutation = [1, 0] : tensor<4x4xi8>
  %r = fuse.matmul %i, %c, out_dtype = "i32" : (tensor<4x4xi8>, tensor<4x4xi8>) -> tensor<4x4xi32>
  %d = fuse.transpose %x, permutation = [0, 2, 1] {fuse.pattern_kind = #fuse.pattern_kind<opaque>} : tensor<2x4x4xf32>
  %s = fuse.batch_matmul %x, %d : tensor<2x4x4xf32>
  %e = fuse.transpose %x, permutation = [0, 2, 1] : tensor<2x4x4xf32>
  %t = fuse.batch_matmul %x, %e {fuse.pattern_kind = #fuse.pattern_kind<opaque>} : tensor<2x4x4xf32>
  return %p, %q, %r, %s, %t : tensor<2x4x4xf32>, tensor<4x4x4xf32>, tensor<4x4xi32>, tensor<2x4x4xf32>, tensor<2x4x4xf32>
}
