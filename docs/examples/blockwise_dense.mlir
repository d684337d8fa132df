// A row times a weight of 4 bits in two blocks: integers times scales, as a matrix.
func.func @main(%x: tensor<1x32xf32>) -> tensor<1x1xf32> {
  %q = arith.constant dense<[[[1, 2, 3, 4, 5, 6, 7, -8, 1, 2, 3, 4, 5, 6, 7, -8],
                              [-1, -2, -3, -4, -5, -6, -7, -8, -1, -2, -3, -4, -5, -6, -7, -8]]]> : tensor<1x2x16xi4>
  %s = arith.constant dense<[[[0.5], [0.25]]]> : tensor<1x2x1xf32>
  %f = fuse.cast %q : (tensor<1x2x16xi4>) -> tensor<1x2x16xf32>
  %m = fuse.multiply %f, %s : (tensor<1x2x16xf32>, tensor<1x2x1xf32>) -> tensor<1x2x16xf32>
  %w = fuse.reshape %m : (tensor<1x2x16xf32>) -> tensor<1x32xf32>
  %y = fuse.dense %x, %w : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x1xf32>
  return %y : tensor<1x1xf32>
}
