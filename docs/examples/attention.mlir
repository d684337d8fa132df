// One head group of self-attention, as an ONNX exporter writes it: three products, heads moved about, scores, softmax.
func.func @main(%x: tensor<128x64xf32>, %wq: tensor<64x64xf32>, %wk: tensor<64x64xf32>, %wv: tensor<64x64xf32>)
    -> tensor<1x4x128x16xf32> {
  %scale = arith.constant dense<2.5e-01> : tensor<f32>
  %q = fuse.matmul %x, %wq : (tensor<128x64xf32>, tensor<64x64xf32>) -> tensor<128x64xf32>
  %k = fuse.matmul %x, %wk : (tensor<128x64xf32>, tensor<64x64xf32>) -> tensor<128x64xf32>
  %v = fuse.matmul %x, %wv : (tensor<128x64xf32>, tensor<64x64xf32>) -> tensor<128x64xf32>
  %q4 = fuse.reshape %q : (tensor<128x64xf32>) -> tensor<1x128x4x16xf32>
  %k4 = fuse.reshape %k : (tensor<128x64xf32>) -> tensor<1x128x4x16xf32>
  %v4 = fuse.reshape %v : (tensor<128x64xf32>) -> tensor<1x128x4x16xf32>
  %qh = fuse.transpose %q4, permutation = [0, 2, 1, 3] : (tensor<1x128x4x16xf32>) -> tensor<1x4x128x16xf32>
  %kh = fuse.transpose %k4, permutation = [0, 2, 3, 1] : (tensor<1x128x4x16xf32>) -> tensor<1x4x16x128xf32>
  %vh = fuse.transpose %v4, permutation = [0, 2, 1, 3] : (tensor<1x128x4x16xf32>) -> tensor<1x4x128x16xf32>
  %scores = fuse.batch_matmul %qh, %kh : (tensor<1x4x128x16xf32>, tensor<1x4x16x128xf32>) -> tensor<1x4x128x128xf32>
  %scaled = fuse.multiply %scores, %scale : (tensor<1x4x128x128xf32>, tensor<f32>) -> tensor<1x4x128x128xf32>
  %max = fuse.max %scaled, axes = [3], keepdims = true : (tensor<1x4x128x128xf32>) -> tensor<1x4x128x1xf32>
  %shifted = fuse.subtract %scaled, %max : (tensor<1x4x128x128xf32>, tensor<1x4x128x1xf32>) -> tensor<1x4x128x128xf32>
  %exp = fuse.exp %shifted : tensor<1x4x128x128xf32>
  %sum = fuse.sum %exp, axes = [3], keepdims = true : (tensor<1x4x128x128xf32>) -> tensor<1x4x128x1xf32>
  %probs = fuse.divide %exp, %sum : (tensor<1x4x128x128xf32>, tensor<1x4x128x1xf32>) -> tensor<1x4x128x128xf32>
  %y = fuse.batch_matmul %probs, %vh : (tensor<1x4x128x128xf32>, tensor<1x4x128x16xf32>) -> tensor<1x4x128x16xf32>
  return %y : tensor<1x4x128x16xf32>
}
