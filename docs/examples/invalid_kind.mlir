// There is no kind of this name.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "npu.gelu"(%x) {fuse.pattern_kind = #fuse.pattern_kind<pointwise>} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
