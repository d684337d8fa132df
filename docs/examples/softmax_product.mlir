// A softmax that is multiplied with values: three reductions over one axis, of which later ones read earlier totals.
func.func @main(%x: tensor<8x512xf32>, %v: tensor<512x16xf32>) -> tensor<8x16xf32> {
  %top = fuse.max %x, axes = [1], keepdims = true : (tensor<8x512xf32>) -> tensor<8x1xf32>
  %less = fuse.subtract %x, %top : (tensor<8x512xf32>, tensor<8x1xf32>) -> tensor<8x512xf32>
  %e = fuse.exp %less : tensor<8x512xf32>
  %sum = fuse.sum %e, axes = [1], keepdims = true : (tensor<8x512xf32>) -> tensor<8x1xf32>
  %p = fuse.divide %e, %sum : (tensor<8x512xf32>, tensor<8x1xf32>) -> tensor<8x512xf32>
  %y = fuse.matmul %p, %v : (tensor<8x512xf32>, tensor<512x16xf32>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}
