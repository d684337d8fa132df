// A residual block with a pool behind it, and a softmax that no accelerator here can run.
func.func @main(%x: tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32> {
  %w = arith.constant dense<0.5> : tensor<4x4x1x1xf32>
  %b = arith.constant dense<0.1> : tensor<4xf32>
  %conv1 = fuse.conv2d %x, %w : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>)
  %bias1 = fuse.bias_add %conv1, %b : (tensor<1x4x8x8xf32>, tensor<4xf32>)
  %relu1 = fuse.relu %bias1 : tensor<1x4x8x8xf32>
  %conv2 = fuse.conv2d %relu1, %w : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>)
  %bias2 = fuse.bias_add %conv2, %b : (tensor<1x4x8x8xf32>, tensor<4xf32>)
  %sum = fuse.add %bias2, %x : tensor<1x4x8x8xf32>
  %relu2 = fuse.relu %sum : tensor<1x4x8x8xf32>
  %pool = fuse.max_pool2d %relu2, pool_size = [2, 2], strides = [2, 2] : (tensor<1x4x8x8xf32>)
  %prob = fuse.softmax %pool, axis = 1 : tensor<1x4x4x4xf32>
  return %prob : tensor<1x4x4x4xf32>
}
