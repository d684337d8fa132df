// The operands of a concatenation form a tuple; what is injective may join it, in the last phase.
func.func @main(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<8x8xf32> {
  %a = fuse.exp %x : tensor<4x8xf32>
  %b = fuse.tanh %y : tensor<4x8xf32>
  %both = fuse.concatenate %a, %b, axis = 0 : (tensor<4x8xf32>, tensor<4x8xf32>)
  %c = fuse.relu %both : tensor<8x8xf32>
  return %c : tensor<8x8xf32>
}
