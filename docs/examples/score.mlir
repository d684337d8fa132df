// A logistic regression for 64 rows: what `fuse-run --rows` runs on any number of them.
func.func @main(%x: tensor<64x3xf32>) -> tensor<64xf32> {
  %w = arith.constant dense<[[0.5, 1.0, 2.0]]> : tensor<1x3xf32>
  %p = fuse.dense %x, %w : (tensor<64x3xf32>, tensor<1x3xf32>)
  %r = fuse.reshape %p : (tensor<64x1xf32>) -> tensor<64xf32>
  %s = fuse.sigmoid %r : tensor<64xf32>
  return %s : tensor<64xf32>
}
