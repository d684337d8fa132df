// A softmax written out. A reduction takes in what comes before it, and gives its result to the next kernel.
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %max = fuse.max %x, axes = [1], keepdims = true : (tensor<8x16xf32>)
  %shifted = fuse.subtract %x, %max : (tensor<8x16xf32>, tensor<8x1xf32>)
  %exp = fuse.exp %shifted : tensor<8x16xf32>
  %total = fuse.sum %exp, axes = [1], keepdims = true : (tensor<8x16xf32>)
  %softmax = fuse.divide %exp, %total : (tensor<8x16xf32>, tensor<8x1xf32>)
  return %softmax : tensor<8x16xf32>
}
