// A virtual machine: a MAC array of 16 x 16, with bias, rescaling and pooling behind it, or a sum of two feature maps.
fuse.hardware @vm source @load operands 6 results 1 products 1 bandwidth 16 {
  fuse.hardware_unit @load kind "load"
  fuse.hardware_unit @mac kind "mac" operations 512
  fuse.hardware_unit @bias kind "bias" bytes 64
  fuse.hardware_unit @rescale kind "rescale" bytes 16
  fuse.hardware_unit @sum kind "sum" bytes 16
  fuse.hardware_unit @pool kind "pool" bytes 16

  fuse.hardware_link @load -> @mac
  fuse.hardware_link @load -> @sum
  fuse.hardware_link @mac -> @bias
  fuse.hardware_link @bias -> @rescale
  fuse.hardware_link @rescale -> @sum
  fuse.hardware_link @rescale -> @pool
  fuse.hardware_link @sum -> @pool

  fuse.hardware_map "fuse.conv2d" to ["mac"] if "ungrouped" where ["weights.bits == 8: Weights have 8 bits", "weights.source is constant: Weights are constant", "stride in 1..2: The array walks in steps of 1 or 2", "dilation == 1", "input.channels multiple of 16 or pad", "result.channels multiple of 16 or pad"] stream 0
  fuse.hardware_map "fuse.bias_add" to ["bias"] where ["input.type is i32: Biases are added to sums"] stream 0
  fuse.hardware_map "fuse.requantize" to ["rescale"] stream 0
  fuse.hardware_map "fuse.requantize_sum" to ["sum"]
  fuse.hardware_map "fuse.max_pool2d" to ["pool"] where ["kernel in 1..3", "input.bits == 8"]
}
