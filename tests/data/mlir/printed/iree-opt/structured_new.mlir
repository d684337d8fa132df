#map = affine_map<(d0, d1, d2) -> (d2, d0)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
module {
  func.func @transposed(%arg0: tensor<5x4xf32>, %arg1: tensor<5x6xf32>, %arg2: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = linalg.matmul indexing_maps = [#map, #map1, #map2] ins(%arg0, %arg1 : tensor<5x4xf32>, tensor<5x6xf32>) outs(%arg2 : tensor<4x6xf32>) -> tensor<4x6xf32>
    return %0 : tensor<4x6xf32>
  }
  func.func @contract(%arg0: tensor<5x4xf32>, %arg1: tensor<5x6xf32>, %arg2: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = linalg.contract indexing_maps = [#map, #map1, #map2] ins(%arg0, %arg1 : tensor<5x4xf32>, tensor<5x6xf32>) outs(%arg2 : tensor<4x6xf32>) -> tensor<4x6xf32>
    return %0 : tensor<4x6xf32>
  }
  func.func @elementwise(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>, %arg2: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = linalg.elementwise <add> ins(%arg0, %arg1 : tensor<4x8xf32>, tensor<4x8xf32>) outs(%arg2 : tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @pack(%arg0: tensor<16x16xf32>, %arg1: tensor<4x2x8x4xf32>, %arg2: tensor<16x16xf32>) -> tensor<16x16xf32> {
    %pack = linalg.pack %arg0 outer_dims_perm = [1, 0] inner_dims_pos = [0, 1] inner_tiles = [8, 4] into %arg1 : tensor<16x16xf32> -> tensor<4x2x8x4xf32>
    %unpack = linalg.unpack %pack outer_dims_perm = [1, 0] inner_dims_pos = [0, 1] inner_tiles = [8, 4] into %arg2 : tensor<4x2x8x4xf32> -> tensor<16x16xf32>
    return %unpack : tensor<16x16xf32>
  }
}
