// A convolution, a relu and a pool on an accelerator whose memory holds 8 kB of feature maps.
fuse.hardware @small source @mac feature_bytes 8192 {
  fuse.hardware_unit @mac kind "mac"
  fuse.hardware_unit @act kind "activation"
  fuse.hardware_unit @pool kind "pool"
  fuse.hardware_link @mac -> @act
  fuse.hardware_link @act -> @pool
  fuse.hardware_map "fuse.conv2d" to ["mac"]
  fuse.hardware_map "fuse.relu" to ["activation"]
  fuse.hardware_map "fuse.max_pool2d" to ["pool"]
}

func.func @main(%x: tensor<1x4x32x16xf32>, %w: tensor<4x4x3x3xf32>) -> tensor<1x4x16x8xf32> {
  %conv = fuse.conv2d %x, %w, padding = [1, 1, 1, 1] : (tensor<1x4x32x16xf32>, tensor<4x4x3x3xf32>)
  %relu = fuse.relu %conv : tensor<1x4x32x16xf32>
  %pool = fuse.max_pool2d %relu, pool_size = [2, 2], strides = [2, 2] : (tensor<1x4x32x16xf32>)
  return %pool : tensor<1x4x16x8xf32>
}
