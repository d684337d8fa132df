// An accelerator: products with bias, then two activations, then a pool; or a sum of two feature maps.
fuse.hardware @tiny_npu source @load operands 4 {
  fuse.hardware_unit @load kind "load"
  fuse.hardware_unit @mac kind "mac"
  fuse.hardware_unit @bias kind "bias"
  fuse.hardware_unit @sum kind "sum"
  fuse.hardware_unit @act kind "activation" capacity 2
  fuse.hardware_unit @pool kind "pool"

  fuse.hardware_link @load -> @mac
  fuse.hardware_link @load -> @sum
  fuse.hardware_link @mac -> @bias
  fuse.hardware_link @bias -> @act
  fuse.hardware_link @sum -> @act
  fuse.hardware_link @act -> @pool

  fuse.hardware_map "fuse.conv2d" to ["mac"]
  fuse.hardware_map "fuse.dense" to ["mac"]
  fuse.hardware_map "fuse.bias_add" to ["bias"]
  fuse.hardware_map "fuse.add" to ["bias"] if "bias"
  fuse.hardware_map "fuse.add" to ["sum"] if "residual"
  fuse.hardware_map "fuse.relu" to ["activation"]
  fuse.hardware_map "fuse.clip" to ["activation"] if "min-zero"
  fuse.hardware_map "fuse.sigmoid" to ["activation"]
  fuse.hardware_map "fuse.max_pool2d" to ["pool"]

  fuse.hardware_virtual "fuse.reshape"
  fuse.hardware_virtual "fuse.squeeze"
}
