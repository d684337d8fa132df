#map = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @map(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>, %arg2: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %mapped = linalg.map { arith.addf } ins(%arg0, %arg1 : tensor<4x8xf32>, tensor<4x8xf32>) outs(%arg2 : tensor<4x8xf32>)
    %mapped_0 = linalg.map { math.absf } ins(%mapped : tensor<4x8xf32>) outs(%arg2 : tensor<4x8xf32>)
    return %mapped_0 : tensor<4x8xf32>
  }
  func.func @reduce(%arg0: tensor<4x8xf32>, %arg1: tensor<4xf32>) -> tensor<4xf32> {
    %reduced = linalg.reduce { arith.addf } ins(%arg0 : tensor<4x8xf32>) outs(%arg1 : tensor<4xf32>) dimensions = [1] 
    %reduced_0 = linalg.reduce ins(%arg0 : tensor<4x8xf32>) outs(%reduced : tensor<4xf32>) dimensions = [1] 
      (%in: f32, %init: f32) {
        %0 = math.exp %in : f32
        %1 = arith.addf %0, %init : f32
        linalg.yield %1 : f32
      }
    return %reduced_0 : tensor<4xf32>
  }
  func.func @transpose(%arg0: tensor<4x8xf32>, %arg1: tensor<8x4xf32>) -> tensor<8x4xf32> {
    %transposed = linalg.transpose ins(%arg0 : tensor<4x8xf32>) outs(%arg1 : tensor<8x4xf32>) permutation = [1, 0] 
    return %transposed : tensor<8x4xf32>
  }
  func.func @broadcast(%arg0: tensor<4xf32>, %arg1: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %broadcasted = linalg.broadcast ins(%arg0 : tensor<4xf32>) outs(%arg1 : tensor<4x8xf32>) dimensions = [1] 
    return %broadcasted : tensor<4x8xf32>
  }
  func.func @softmax(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = linalg.softmax dimension(1) ins(%arg0 : tensor<4x8xf32>) outs(%arg1 : tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @generic(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>, %arg2: tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>) {
    %0:2 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<4x8xf32>) outs(%arg1, %arg2 : tensor<4x8xf32>, tensor<4x8xi32>) {
    ^bb0(%in: f32, %out: f32, %out_0: i32):
      %1 = linalg.index 0 : index
      %2 = arith.index_cast %1 : index to i32
      linalg.yield %in, %2 : f32, i32
    } -> (tensor<4x8xf32>, tensor<4x8xi32>)
    return %0#0, %0#1 : tensor<4x8xf32>, tensor<4x8xi32>
  }
  func.func @quantized(%arg0: tensor<4x5xi8>, %arg1: tensor<5x6xi8>, %arg2: i32, %arg3: tensor<4x6xi32>) -> tensor<4x6xi32> {
    %0 = linalg.quantized_matmul ins(%arg0, %arg1, %arg2, %arg2 : tensor<4x5xi8>, tensor<5x6xi8>, i32, i32) outs(%arg3 : tensor<4x6xi32>) -> tensor<4x6xi32>
    return %0 : tensor<4x6xi32>
  }
  func.func @mixed(%arg0: tensor<4x5xi8>, %arg1: tensor<5x6xi8>, %arg2: tensor<4x6xi32>) -> tensor<4x6xi32> {
    %0 = linalg.matmul {cast = #linalg.type_fn<cast_unsigned>} ins(%arg0, %arg1 : tensor<4x5xi8>, tensor<5x6xi8>) outs(%arg2 : tensor<4x6xi32>) -> tensor<4x6xi32>
    return %0 : tensor<4x6xi32>
  }
}
