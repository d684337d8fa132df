// RUN: fuse-opt --compile-pipeline -t llvm --target-cpu sapphirerapids %s | filecheck %s
// RUN: fuse-opt --compile-pipeline -t llvm --target-cpu icelake-server %s | filecheck %s --check-prefix=VECTORS

// On a processor with tiles, two tiles of rows meet two of columns, and the sums of all four are stored at the end.

// CHECK-LABEL: define internal void @fused_dense_tile_1x32x32(
// CHECK-COUNT-4: call x86_amx @llvm.x86.tilezero.internal(i16 16, i16 64)
// CHECK-COUNT-2: call x86_amx @llvm.x86.tileloadd64.internal(i16 16, i16 64, ptr {{.*}}, i64 128)
// CHECK: call x86_amx @llvm.x86.tileloadd64.internal(i16 16, i16 64, ptr {{.*}}, i64 256)
// CHECK-COUNT-2: call x86_amx @llvm.x86.tdpbusd.internal(i16 16, i16 64, i16 64,
// CHECK: call x86_amx @llvm.x86.tileloadd64.internal(i16 16, i16 64, ptr {{.*}}, i64 256)
// CHECK-COUNT-2: call x86_amx @llvm.x86.tdpbusd.internal(i16 16, i16 64, i16 64,
// CHECK-COUNT-4: call void @llvm.x86.tilestored64.internal(i16 16, i16 64, ptr {{.*}}, i64 128,

// VECTORS-NOT: x86_amx
// VECTORS: call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(
// VECTORS-NOT: x86_amx
func.func @main(%x: tensor<64x256xui8>, %w: tensor<64x256xi8>) -> tensor<64x64xi32> {
  %y = fuse.dense %x, %w, out_dtype = "i32" : (tensor<64x256xui8>, tensor<64x256xi8>) -> tensor<64x64xi32>
  func.return %y : tensor<64x64xi32>
}
