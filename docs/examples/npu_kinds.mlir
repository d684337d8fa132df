// The module says the kinds of its ops: no option is needed.
module attributes {fuse.kinds = [{name = "npu.*", kind = #fuse.pattern_kind<elemwise>},
                                 {name = "npu.turn", kind = #fuse.pattern_kind<injective>}]} {
  func.func @main(%x: tensor<16x32xf32>) -> tensor<32x16xf32> {
    %0 = "npu.turn"(%x) : (tensor<16x32xf32>) -> tensor<32x16xf32>
    %1 = "npu.gelu"(%0) : (tensor<32x16xf32>) -> tensor<32x16xf32>
    return %1 : tensor<32x16xf32>
  }
}
