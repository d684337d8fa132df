// Ops of a dialect that nobody has registered. The first two say their kinds, the third says nothing and is a barrier.
func.func @main(%x: tensor<16x16xf32>, %w: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %0 = "npu.matmul"(%x, %w) {fuse.pattern_kind = #fuse.pattern_kind<out_ewise_fusable>} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = "npu.gelu"(%0) {fuse.pattern_kind = #fuse.pattern_kind<elemwise>} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %2 = fuse.relu %1 : tensor<16x16xf32>
  %3 = "npu.all_reduce"(%2) : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %4 = fuse.tanh %3 : tensor<16x16xf32>
  return %4 : tensor<16x16xf32>
}
