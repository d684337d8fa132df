func.func @shapes(%a: tensor<4x?xf32>, %n: index) -> tensor<?xf32> {
  %c = tensor.collapse_shape %a [[0, 1]] : tensor<4x?xf32> into tensor<?xf32>
  %e = tensor.expand_shape %c [[0, 1]] output_shape [4, %n] : tensor<?xf32> into tensor<4x?xf32>
  %s = tensor.extract_slice %e[0, 1] [2, %n] [1, 1] : tensor<4x?xf32> to tensor<2x?xf32>
  %i = tensor.insert_slice %s into %e[0, 0] [2, %n] [1, 1] : tensor<2x?xf32> into tensor<4x?xf32>
  %r = tensor.collapse_shape %i [[0, 1]] : tensor<4x?xf32> into tensor<?xf32>
  return %r : tensor<?xf32>
}
func.func @pad(%a: tensor<4x8xf32>, %v: f32, %n: index) -> tensor<?x10xf32> {
  %p = tensor.pad %a low[0, 1] high[%n, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %v : f32
  } : tensor<4x8xf32> to tensor<?x10xf32>
  return %p : tensor<?x10xf32>
}
func.func @generate(%n: index, %t: tensor<?xf32>) -> tensor<?x8xf32> {
  %g = tensor.generate %n {
  ^bb0(%i: index, %j: index):
    %e = tensor.extract %t[%i] : tensor<?xf32>
    tensor.yield %e : f32
  } : tensor<?x8xf32>
  return %g : tensor<?x8xf32>
}
func.func @small(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %i: index, %v: f32) -> tensor<4x3xf32> {
  %c = tensor.concat dim(0) %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %d = tensor.dim %c, %i : tensor<4x3xf32>
  %e = tensor.insert %v into %c[%d, %i] : tensor<4x3xf32>
  %f = tensor.from_elements %v, %v : tensor<2xf32>
  %k = tensor.cast %e : tensor<4x3xf32> to tensor<?x3xf32>
  %l = tensor.cast %k : tensor<?x3xf32> to tensor<4x3xf32>
  %q = tensor.rank %l : tensor<4x3xf32>
  %bc = tensor.bitcast %l : tensor<4x3xf32> to tensor<4x3xi32>
  %sp = tensor.splat %v : tensor<4x3xf32>
  %ix = arith.constant dense<0> : tensor<2x1xindex>
  %ga = tensor.gather %sp[%ix] gather_dims([0]) : (tensor<4x3xf32>, tensor<2x1xindex>) -> tensor<2x1x3xf32>
  %sc = tensor.scatter %ga into %sp[%ix] scatter_dims([0]) unique : (tensor<2x1x3xf32>, tensor<4x3xf32>, tensor<2x1xindex>) -> tensor<4x3xf32>
  return %sc : tensor<4x3xf32>
}
