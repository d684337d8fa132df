func.func @main(%q: tensor<1x4xui8>) -> tensor<1x2xf32> {
  %zero = arith.constant dense<5> : tensor<i32>
  %scale = arith.constant dense<0.5> : tensor<f32>
  %v = arith.constant dense<[[1, 2, 3, 4], [-1, -2, -3, 10]]> : tensor<2x4xi8>
  %0 = fuse.cast %q : (tensor<1x4xui8>) -> tensor<1x4xi32>
  %1 = fuse.subtract %0, %zero : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi32>
  %2 = fuse.cast %1 : (tensor<1x4xi32>) -> tensor<1x4xf32>
  %x = fuse.multiply %2, %scale : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xf32>
  %3 = fuse.cast %v : (tensor<2x4xi8>) -> tensor<2x4xi32>
  %4 = fuse.cast %3 : (tensor<2x4xi32>) -> tensor<2x4xf32>
  %w = fuse.multiply %4, %scale : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %y = fuse.dense %x, %w : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}
