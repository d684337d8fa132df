// RUN: FUSE_ROUNDTRIP

// CHECK-LABEL: func.func @blockwise_dense
func.func @blockwise_dense(%x: tensor<?x64xf32>, %w: tensor<8x64xi8>, %u: tensor<8x64xui8>, %s: tensor<8x2xf32>, %z: tensor<f32>) {
  // CHECK-NEXT: %a = fuse.blockwise_dense %x, %w, %s, %z, bits = 4 : (tensor<?x64xf32>, tensor<8x64xi8>, tensor<8x2xf32>, tensor<f32>) -> tensor<?x8xf32>
  %a = fuse.blockwise_dense %x, %w, %s, %z, bits = 4 : (tensor<?x64xf32>, tensor<8x64xi8>, tensor<8x2xf32>, tensor<f32>)
  // CHECK-NEXT: %b = fuse.blockwise_dense %x, %u, %s, %s : (tensor<?x64xf32>, tensor<8x64xui8>, tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<?x8xf32>
  %b = fuse.blockwise_dense %x, %u, %s, %s, bits = 8 : (tensor<?x64xf32>, tensor<8x64xui8>, tensor<8x2xf32>, tensor<8x2xf32>)
  return
}
