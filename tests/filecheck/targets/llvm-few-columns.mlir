// RUN: fuse-opt --fuse-ops -t llvm --target-cpu skylake-avx512 %s | filecheck %s

// One row times a small matrix asks for no line ahead: most would be beyond its last column. Times a large one it does,
// and so do some rows times the small one.

// CHECK-LABEL: define internal void @fused_matmul_tile_1x
// CHECK-NOT:   @llvm.prefetch
// CHECK:       ret void
// CHECK-LABEL: define internal void @fused_matmul_0_tile_1x
// CHECK:       @llvm.prefetch
// CHECK-LABEL: define internal void @fused_matmul_1_tile_1x
// CHECK:       @llvm.prefetch
func.func @main(%row: tensor<1x32xf32>, %small: tensor<32x64xf32>, %large: tensor<32x512xf32>, %rows: tensor<4x32xf32>)
    -> (tensor<1x64xf32>, tensor<1x512xf32>, tensor<4x64xf32>) {
  %0 = fuse.matmul %row, %small : (tensor<1x32xf32>, tensor<32x64xf32>) -> tensor<1x64xf32>
  %1 = fuse.matmul %row, %large : (tensor<1x32xf32>, tensor<32x512xf32>) -> tensor<1x512xf32>
  %2 = fuse.matmul %rows, %small : (tensor<4x32xf32>, tensor<32x64xf32>) -> tensor<4x64xf32>
  func.return %0, %1, %2 : tensor<1x64xf32>, tensor<1x512xf32>, tensor<4x64xf32>
}
