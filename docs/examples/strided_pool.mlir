func.func @main(%x: tensor<1x4x20x20xf32>) -> tensor<1x4x4x4xf32> {
  %y = fuse.max_pool2d %x, pool_size = [5, 5], strides = [5, 5] : (tensor<1x4x20x20xf32>) -> tensor<1x4x4x4xf32>
  func.return %y : tensor<1x4x4x4xf32>
}
