func.func @map(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = linalg.map { arith.addf } ins(%a, %b : tensor<4x8xf32>, tensor<4x8xf32>) outs(%o : tensor<4x8xf32>)
  %1 = linalg.map { math.absf } ins(%0 : tensor<4x8xf32>) outs(%o : tensor<4x8xf32>)
  return %1 : tensor<4x8xf32>
}
func.func @reduce(%a: tensor<4x8xf32>, %o: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.reduce { arith.addf } ins(%a : tensor<4x8xf32>) outs(%o : tensor<4xf32>) dimensions = [1]
  %1 = linalg.reduce ins(%a : tensor<4x8xf32>) outs(%0 : tensor<4xf32>) dimensions = [1]
    (%in: f32, %init: f32) {
      %e = math.exp %in : f32
      %s = arith.addf %e, %init : f32
      linalg.yield %s : f32
    }
  return %1 : tensor<4xf32>
}
func.func @transpose(%a: tensor<4x8xf32>, %o: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = linalg.transpose ins(%a : tensor<4x8xf32>) outs(%o : tensor<8x4xf32>) permutation = [1, 0]
  return %0 : tensor<8x4xf32>
}
func.func @broadcast(%a: tensor<4xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = linalg.broadcast ins(%a : tensor<4xf32>) outs(%o : tensor<4x8xf32>) dimensions = [1]
  return %0 : tensor<4x8xf32>
}
func.func @softmax(%a: tensor<4x8xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = linalg.softmax dimension(1) ins(%a : tensor<4x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
func.func @generic(%a: tensor<4x8xf32>, %o: tensor<4x8xf32>, %p: tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>) {
  %0:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x8xf32>) outs(%o, %p : tensor<4x8xf32>, tensor<4x8xi32>) {
  ^bb0(%in: f32, %out: f32, %out_0: i32):
    %i = linalg.index 0 : index
    %c = arith.index_cast %i : index to i32
    linalg.yield %in, %c : f32, i32
  } -> (tensor<4x8xf32>, tensor<4x8xi32>)
  return %0#0, %0#1 : tensor<4x8xf32>, tensor<4x8xi32>
}
func.func @quantized(%a: tensor<4x5xi8>, %b: tensor<5x6xi8>, %z: i32, %o: tensor<4x6xi32>) -> tensor<4x6xi32> {
  %0 = linalg.quantized_matmul ins(%a, %b, %z, %z : tensor<4x5xi8>, tensor<5x6xi8>, i32, i32) outs(%o : tensor<4x6xi32>) -> tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}
func.func @mixed(%a: tensor<4x5xi8>, %b: tensor<5x6xi8>, %o: tensor<4x6xi32>) -> tensor<4x6xi32> {
  %0 = linalg.matmul {cast = #linalg.type_fn<cast_unsigned>} ins(%a, %b : tensor<4x5xi8>, tensor<5x6xi8>) outs(%o : tensor<4x6xi32>) -> tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}
