// RUN: fuse-opt %s --fuse-ops --allow-unregistered-dialect | filecheck %s
// RUN: fuse-opt %s --fuse-ops --fusion-remarks --allow-unregistered-dialect -o /dev/null 2>&1 | filecheck %s --check-prefix REMARK

// Ops of the dialects that importers write have the kinds of their counterparts.
func.func @mhlo(%x: tensor<4x8xf32>, %y: tensor<8x16xf32>) -> tensor<4x16xf32> {
  %0 = "mhlo.dot"(%x, %y) : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = "mhlo.tanh"(%0) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  func.return %1 : tensor<4x16xf32>
}
// CHECK-LABEL: func.func @mhlo
// CHECK-NEXT:    func.call @fused_dot_tanh

func.func @onnx(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x1x1xf32>) -> tensor<1x4x8x8xf32> {
  %none = "onnx.NoValue"() : () -> none
  %0 = "onnx.Conv"(%x, %w, %none) : (tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>, none) -> tensor<1x4x8x8xf32>
  %1 = "onnx.Relu"(%0) : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  func.return %1 : tensor<1x4x8x8xf32>
}
// CHECK-LABEL: func.func @onnx
// CHECK:         func.call @fused_Conv_Relu

func.func @torch(%x: !torch.vtensor<[4,8],f32>, %w: !torch.vtensor<[16,8],f32>) -> !torch.vtensor<[4,16],f32> {
  %none = "torch.constant.none"() : () -> !torch.none
  %0 = "torch.aten.linear"(%x, %w, %none) : (!torch.vtensor<[4,8],f32>, !torch.vtensor<[16,8],f32>, !torch.none) -> !torch.vtensor<[4,16],f32>
  %one = "torch.constant.int"() <{value = 1 : i64}> : () -> !torch.int
  %1 = "torch.aten.add.Tensor"(%0, %0, %one) : (!torch.vtensor<[4,16],f32>, !torch.vtensor<[4,16],f32>, !torch.int) -> !torch.vtensor<[4,16],f32>
  func.return %1 : !torch.vtensor<[4,16],f32>
}
// CHECK-LABEL: func.func @torch
// CHECK:         func.call @fused_aten_linear_aten_add_Tensor

// What says sizes is no operator, and no remark is made on it.
func.func @sizes(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c = arith.constant 0 : index
  %n = tensor.dim %x, %c : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %0 = linalg.exp ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  func.return %0 : tensor<?xf32>
}
// CHECK-LABEL: func.func @sizes
// REMARK-NOT:  tensor.dim
// REMARK-NOT:  tensor.empty
// REMARK:      'linalg.exp' op not fused: value-escapes
