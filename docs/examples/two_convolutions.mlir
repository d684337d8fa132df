// Both convolutions could take the addition as their epilogue; the one that comes first in the graph's order does.
func.func @main(%x: tensor<1x4x8x8xf32>, %u: tensor<4x4x1x1xf32>, %v: tensor<4x4x3x3xf32>) -> tensor<1x4x8x8xf32> {
  %first = fuse.conv2d %x, %u : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>)
  %second = fuse.conv2d %x, %v, padding = [1, 1, 1, 1] : (tensor<1x4x8x8xf32>, tensor<4x4x3x3xf32>)
  %sum = fuse.add %first, %second : tensor<1x4x8x8xf32>
  return %sum : tensor<1x4x8x8xf32>
}
