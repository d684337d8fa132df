// RUN: fuse-opt %s --fuse-ops | filecheck %s

// Loops and maps of a linalg.generic say its kind; its empty destination moves along.
#identity = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>
#rows = affine_map<(i, j) -> (i)>
#swapped = affine_map<(i, j) -> (j, i)>

func.func @elementwise_broadcast_reduction(%x: tensor<4x8xf32>, %b: tensor<8xf32>, %init: tensor<4xf32>) -> tensor<4xf32> {
  %e0 = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.generic {indexing_maps = [#identity, #identity], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e0 : tensor<4x8xf32>) {
  ^body(%in: f32, %out: f32):
    %r = math.exp %in : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  %e1 = tensor.empty() : tensor<4x8xf32>
  %1 = linalg.generic {indexing_maps = [#identity, #row, #identity], iterator_types = ["parallel", "parallel"]} ins(%0, %b : tensor<4x8xf32>, tensor<8xf32>) outs(%e1 : tensor<4x8xf32>) {
  ^body(%in: f32, %bias: f32, %out: f32):
    %r = arith.addf %in, %bias : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  %2 = linalg.generic {indexing_maps = [#identity, #rows], iterator_types = ["parallel", "reduction"]} ins(%1 : tensor<4x8xf32>) outs(%init : tensor<4xf32>) {
  ^body(%in: f32, %acc: f32):
    %r = arith.addf %in, %acc : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
// CHECK-LABEL: func.func @elementwise_broadcast_reduction
// CHECK-NEXT:    func.call @fused_generic_generic_generic(%x, %b, %init)
// CHECK-NEXT:    func.return

// A transposition is injective and joins no reduction.
func.func @transposition(%x: tensor<8x4xf32>, %e: tensor<4x8xf32>, %init: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.generic {indexing_maps = [#swapped, #identity], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x4xf32>) outs(%e : tensor<4x8xf32>) {
  ^body(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4x8xf32>
  %1 = linalg.generic {indexing_maps = [#identity, #rows], iterator_types = ["parallel", "reduction"]} ins(%0 : tensor<4x8xf32>) outs(%init : tensor<4xf32>) {
  ^body(%in: f32, %acc: f32):
    %r = arith.addf %in, %acc : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
// CHECK-LABEL: func.func @transposition
// CHECK-NEXT:    func.call @fused_generic(%x, %e)
// CHECK-NEXT:    func.call @fused_generic_0(
// CHECK-NEXT:    func.return

// Two inputs that meet in a reduced loop are a product of matrices: an anchor, which takes an epilogue but no prologue.
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
func.func @contraction(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>, %init: tensor<4x4xf32>, %e: tensor<4x8xf32>, %f: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = linalg.generic {indexing_maps = [#identity, #identity], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^body(%in: f32, %out: f32):
    %r = math.exp %in : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  %1 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%0, %y : tensor<4x8xf32>, tensor<8x4xf32>) outs(%init : tensor<4x4xf32>) {
  ^body(%l: f32, %r: f32, %acc: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %p, %acc : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  %2 = linalg.exp ins(%1 : tensor<4x4xf32>) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %2 : tensor<4x4xf32>
}
// CHECK-LABEL: func.func @contraction
// CHECK-NEXT:    func.call @fused_generic_1(%x, %e)
// CHECK-NEXT:    func.call @fused_generic_exp(
// CHECK-NEXT:    func.return
