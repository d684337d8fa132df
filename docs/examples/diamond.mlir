// Two ways lead from the convolution to the addition; both must join for the convolution to join.
func.func @main(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32> {
  %conv = fuse.conv2d %x, %w : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>)
  %left = fuse.relu %conv : tensor<1x4x8x8xf32>
  %right = fuse.tanh %conv : tensor<1x4x8x8xf32>
  %sum = fuse.add %left, %right : tensor<1x4x8x8xf32>
  return %sum : tensor<1x4x8x8xf32>
}
