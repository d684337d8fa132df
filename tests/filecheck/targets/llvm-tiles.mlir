// RUN: fuse-opt --compile-pipeline -t llvm --target-cpu sapphirerapids %s | filecheck %s
// RUN: fuse-opt --compile-pipeline -t llvm --target-cpu icelake-server %s | filecheck %s --check-prefix=VECTORS

// On a processor with tiles, two tiles of rows meet two of columns, and the sums of all four are stored at the end. The
// kernel says once what shapes registers have.

// CHECK-LABEL: define void @fused_dense(
// CHECK: call void @llvm.x86.ldtilecfg(ptr @tiles.16x16x16)
// CHECK: call void @llvm.x86.tilerelease()
// CHECK-LABEL: define internal void @fused_dense_tile_1x32x32(
// CHECK-COUNT-4: call void @llvm.x86.tilezero(
// CHECK: call void @llvm.x86.tileloadd64(i8 6, ptr {{.*}}, i64 128)
// CHECK: call void @llvm.x86.tileloadd64(i8 7, ptr {{.*}}, i64 128)
// CHECK: call void @llvm.x86.tileloadd64(i8 4, ptr {{.*}}, i64 256)
// CHECK: call void @llvm.x86.tdpbusd(i8 0, i8 4, i8 6)
// CHECK: call void @llvm.x86.tdpbusd(i8 1, i8 4, i8 7)
// CHECK: call void @llvm.x86.tileloadd64(i8 5, ptr {{.*}}, i64 256)
// CHECK: call void @llvm.x86.tdpbusd(i8 2, i8 5, i8 6)
// CHECK: call void @llvm.x86.tdpbusd(i8 3, i8 5, i8 7)
// CHECK-COUNT-4: call void @llvm.x86.tilestored64(
// CHECK-NOT: call void @llvm.x86.ldtilecfg

// VECTORS-NOT: llvm.x86.t
// VECTORS: call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(
// VECTORS-NOT: llvm.x86.t
func.func @main(%x: tensor<64x256xui8>, %w: tensor<64x256xi8>) -> tensor<64x64xi32> {
  %y = fuse.dense %x, %w, out_dtype = "i32" : (tensor<64x256xui8>, tensor<64x256xi8>) -> tensor<64x64xi32>
  func.return %y : tensor<64x64xi32>
}
