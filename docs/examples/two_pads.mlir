// A padded convolution with bias, padded again for a pool; the first value is an output, too.
func.func @main(%x: tensor<1x4x8x8xf32>) -> (tensor<1x4x8x8xf32>, tensor<1x4x9x9xf32>) {
  %w = arith.constant dense<0.5> : tensor<4x4x3x3xf32>
  %b = arith.constant dense<0.1> : tensor<4xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %pad1 = fuse.pad %x, %zero, low = [0, 0, 1, 1], high = [0, 0, 1, 1] : (tensor<1x4x8x8xf32>, tensor<f32>) -> tensor<1x4x10x10xf32>
  %conv = fuse.conv2d %pad1, %w : (tensor<1x4x10x10xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x8x8xf32>
  %bias = fuse.bias_add %conv, %b : (tensor<1x4x8x8xf32>, tensor<4xf32>) -> tensor<1x4x8x8xf32>
  %pad2 = fuse.pad %bias, %zero, low = [0, 0, 1, 1], high = [0, 0, 1, 1] : (tensor<1x4x8x8xf32>, tensor<f32>) -> tensor<1x4x10x10xf32>
  %pool = fuse.max_pool2d %pad2, pool_size = [2, 2] : (tensor<1x4x10x10xf32>) -> tensor<1x4x9x9xf32>
  func.return %bias, %pool : tensor<1x4x8x8xf32>, tensor<1x4x9x9xf32>
}
