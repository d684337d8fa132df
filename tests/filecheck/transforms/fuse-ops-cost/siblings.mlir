// RUN: fuse-opt --fuse-ops="strategy=cost machine=cpu-avx512" %s | filecheck %s
// RUN: fuse-opt --fuse-ops="strategy=cost machine=cpu-avx512 horizontal=false" %s | filecheck %s --check-prefix=APART
// RUN: fuse-opt --fuse-ops="strategy=cost machine=cpu-avx512 horizontal=false recompute=false" %s | filecheck %s --check-prefix=ONCE
// RUN: fuse-opt --fuse-ops="strategy=cost machine=cpu-avx512 max-depth=1" %s | filecheck %s --check-prefix=ALONE

// Products of one input stand side by side, each with its epilogue.
// CHECK-LABEL: func.func @products
// CHECK-NEXT: %p, %b = func.call @fused_matmul_relu_matmul(%x, %v, %w)
// APART-LABEL: func.func @products
// APART-COUNT-2: func.call
func.func @products(%x: tensor<64x32xf32>, %v: tensor<32x128xf32>, %w: tensor<32x16xf32>)
    -> (tensor<64x128xf32>, tensor<64x16xf32>) {
  %a = fuse.matmul %x, %v : (tensor<64x32xf32>, tensor<32x128xf32>) -> tensor<64x128xf32>
  %p = fuse.relu %a : tensor<64x128xf32>
  %b = fuse.matmul %x, %w : (tensor<64x32xf32>, tensor<32x16xf32>) -> tensor<64x16xf32>
  return %p, %b : tensor<64x128xf32>, tensor<64x16xf32>
}

// A transpose that two products read is a part of both; the option forbids that.
// APART-LABEL: func.func @moved
// APART-COUNT-2: func.call @fused_transpose_matmul
// ONCE-LABEL: func.func @moved
// ONCE-NEXT: %t = func.call @fused_transpose(%x)
// ALONE-LABEL: func.func @moved
// ALONE-COUNT-3: func.call
func.func @moved(%x: tensor<32x64xf32>, %v: tensor<128x64xf32>, %w: tensor<16x64xf32>)
    -> (tensor<128x32xf32>, tensor<16x32xf32>) {
  %t = fuse.transpose %x, permutation = [1, 0] : (tensor<32x64xf32>) -> tensor<64x32xf32>
  %a = fuse.matmul %v, %t : (tensor<128x64xf32>, tensor<64x32xf32>) -> tensor<128x32xf32>
  %b = fuse.matmul %w, %t : (tensor<16x64xf32>, tensor<64x32xf32>) -> tensor<16x32xf32>
  return %a, %b : tensor<128x32xf32>, tensor<16x32xf32>
}
