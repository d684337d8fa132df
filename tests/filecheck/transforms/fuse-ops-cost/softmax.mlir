// RUN: fuse-opt --fuse-ops="strategy=cost machine=cpu-avx512" %s | filecheck %s
// RUN: fuse-opt --fuse-ops="strategy=cost machine=cpu-avx512 multi-output=false" %s | filecheck %s --check-prefix=SINGLE
// RUN: fuse-opt --fuse-ops="strategy=cost machine=cpu-avx512" --defuse-ops %s | filecheck %s --check-prefix=BACK

// A softmax that is written out is one kernel: its stages share rows.
// CHECK-LABEL: func.func @softmax
// CHECK-NEXT: %y = func.call @fused_max_subtract_exp_sum_divide(%x)
// CHECK-NEXT: func.return %y
func.func @softmax(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %m = fuse.max %x, axes = [1], keepdims = true : (tensor<64x128xf32>) -> tensor<64x1xf32>
  %d = fuse.subtract %x, %m : (tensor<64x128xf32>, tensor<64x1xf32>) -> tensor<64x128xf32>
  %e = fuse.exp %d : tensor<64x128xf32>
  %s = fuse.sum %e, axes = [1], keepdims = true : (tensor<64x128xf32>) -> tensor<64x1xf32>
  %y = fuse.divide %e, %s : (tensor<64x128xf32>, tensor<64x1xf32>) -> tensor<64x128xf32>
  return %y : tensor<64x128xf32>
}

// A value that is returned and read is stored by the kernel that computes both.
// CHECK-LABEL: func.func @two_results
// CHECK-NEXT: %e, %s = func.call @fused_exp_sum(%x)
// SINGLE-LABEL: func.func @two_results
// SINGLE-NEXT: func.call @fused_exp(
// SINGLE-NEXT: func.call @fused_sum(
// BACK-LABEL: func.func @two_results
// BACK-NEXT: %e = fuse.exp %x
// BACK-NEXT: %s = fuse.sum %e
func.func @two_results(%x: tensor<64x128xf32>) -> (tensor<64x128xf32>, tensor<64xf32>) {
  %e = fuse.exp %x : tensor<64x128xf32>
  %s = fuse.sum %e, axes = [1] : (tensor<64x128xf32>) -> tensor<64xf32>
  return %e, %s : tensor<64x128xf32>, tensor<64xf32>
}

// A product and rows are one kernel in strips, some rows at a time.
// CHECK-LABEL: func.func @product_and_rows
// CHECK-NEXT: func.call @fused_matmul_relu_softmax(
func.func @product_and_rows(%x: tensor<64x32xf32>, %w: tensor<32x128xf32>) -> tensor<64x128xf32> {
  %p = fuse.matmul %x, %w : (tensor<64x32xf32>, tensor<32x128xf32>) -> tensor<64x128xf32>
  %r = fuse.relu %p : tensor<64x128xf32>
  %y = fuse.softmax %r : tensor<64x128xf32>
  return %y : tensor<64x128xf32>
}
