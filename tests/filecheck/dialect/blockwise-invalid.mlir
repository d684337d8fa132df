// RUN: fuse-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

func.func @weight(%x: tensor<1x64xf32>, %w: tensor<8x64xi16>, %s: tensor<8x2xf32>, %z: tensor<f32>) {
  %a = fuse.blockwise_dense %x, %w, %s, %z : (tensor<1x64xf32>, tensor<8x64xi16>, tensor<8x2xf32>, tensor<f32>)
}
// CHECK: expects a weight of i8 or ui8, got i16
// -----
func.func @input(%x: tensor<1x64xf16>, %w: tensor<8x64xi8>, %s: tensor<8x2xf32>, %z: tensor<f32>) {
  %a = fuse.blockwise_dense %x, %w, %s, %z : (tensor<1x64xf16>, tensor<8x64xi8>, tensor<8x2xf32>, tensor<f32>)
}
// CHECK: expects elements of f32 for 'input', got f16
// -----
func.func @bits(%x: tensor<1x64xf32>, %w: tensor<8x64xi8>, %s: tensor<8x2xf32>, %z: tensor<f32>) {
  %a = fuse.blockwise_dense %x, %w, %s, %z, bits = 3 : (tensor<1x64xf32>, tensor<8x64xi8>, tensor<8x2xf32>, tensor<f32>)
}
// CHECK: expects 4 or 8 bits, got 3
// -----
func.func @blocks(%x: tensor<1x64xf32>, %w: tensor<8x64xi8>, %s: tensor<8x3xf32>, %z: tensor<f32>) {
  %a = fuse.blockwise_dense %x, %w, %s, %z : (tensor<1x64xf32>, tensor<8x64xi8>, tensor<8x3xf32>, tensor<f32>)
}
// CHECK: expects as many blocks as divide 64 columns, got 3
// -----
func.func @zeros(%x: tensor<1x64xf32>, %w: tensor<8x64xi8>, %s: tensor<8x2xf32>, %z: tensor<8x4xf32>) {
  %a = fuse.blockwise_dense %x, %w, %s, %z : (tensor<1x64xf32>, tensor<8x64xi8>, tensor<8x2xf32>, tensor<8x4xf32>)
}
// CHECK: the blocks of 'scale' and of 'zero'
