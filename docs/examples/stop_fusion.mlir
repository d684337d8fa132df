// The barrier keeps the two operators apart, and the pass removes it.
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = fuse.exp %x : tensor<8xf32>
  %b = fuse.stop_fusion %a : tensor<8xf32>
  %c = fuse.tanh %b : tensor<8xf32>
  return %c : tensor<8xf32>
}
