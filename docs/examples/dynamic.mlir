// One row of weights, repeated for every sample of a batch whose size is known when the program runs.
func.func @main(%x: tensor<?x4xf32> {fuse.sizes = ["batch", ""]}, %w: tensor<1x4xf32>) -> tensor<?x8xf32> {
  %shape = fuse.shape_of %x : (tensor<?x4xf32>) -> tensor<2xi64>
  %rows = fuse.dyn_broadcast_to %w, %shape : (tensor<1x4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  %scaled = fuse.multiply %x, %rows : tensor<?x4xf32>
  %both = fuse.concatenate %x, %scaled, axis = 1 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x8xf32>
  return %both : tensor<?x8xf32>
}
