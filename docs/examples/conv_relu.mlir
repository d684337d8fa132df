// A convolution with its epilogue, then a reduction: two kernels.
func.func @main(%x: tensor<1x3x32x32xf32>, %w: tensor<8x3x3x3xf32>, %b: tensor<8xf32>) -> tensor<1x8xf32> {
  %conv = fuse.conv2d %x, %w, padding = [1, 1, 1, 1] : (tensor<1x3x32x32xf32>, tensor<8x3x3x3xf32>)
  %biased = fuse.bias_add %conv, %b : (tensor<1x8x32x32xf32>, tensor<8xf32>)
  %active = fuse.relu %biased : tensor<1x8x32x32xf32>
  %mean = fuse.mean %active, axes = [2, 3] : (tensor<1x8x32x32xf32>)
  return %mean : tensor<1x8xf32>
}
