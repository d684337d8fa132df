module {
  func.func @shapes(%arg0: tensor<4x?xf32>, %arg1: index) -> tensor<?xf32> {
    %collapsed = tensor.collapse_shape %arg0 [[0, 1]] : tensor<4x?xf32> into tensor<?xf32>
    %expanded = tensor.expand_shape %collapsed [[0, 1]] output_shape [4, %arg1] : tensor<?xf32> into tensor<4x?xf32>
    %extracted_slice = tensor.extract_slice %expanded[0, 1] [2, %arg1] [1, 1] : tensor<4x?xf32> to tensor<2x?xf32>
    %inserted_slice = tensor.insert_slice %extracted_slice into %expanded[0, 0] [2, %arg1] [1, 1] : tensor<2x?xf32> into tensor<4x?xf32>
    %collapsed_0 = tensor.collapse_shape %inserted_slice [[0, 1]] : tensor<4x?xf32> into tensor<?xf32>
    return %collapsed_0 : tensor<?xf32>
  }
  func.func @pad(%arg0: tensor<4x8xf32>, %arg1: f32, %arg2: index) -> tensor<?x10xf32> {
    %padded = tensor.pad %arg0 low[0, 1] high[%arg2, 1] {
    ^bb0(%arg3: index, %arg4: index):
      tensor.yield %arg1 : f32
    } : tensor<4x8xf32> to tensor<?x10xf32>
    return %padded : tensor<?x10xf32>
  }
  func.func @generate(%arg0: index, %arg1: tensor<?xf32>) -> tensor<?x8xf32> {
    %generated = tensor.generate %arg0 {
    ^bb0(%arg2: index, %arg3: index):
      %extracted = tensor.extract %arg1[%arg2] : tensor<?xf32>
      tensor.yield %extracted : f32
    } : tensor<?x8xf32>
    return %generated : tensor<?x8xf32>
  }
  func.func @small(%arg0: tensor<2x3xf32>, %arg1: tensor<2x3xf32>, %arg2: index, %arg3: f32) -> tensor<4x3xf32> {
    %concat = tensor.concat dim(0) %arg0, %arg1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
    %dim = tensor.dim %concat, %arg2 : tensor<4x3xf32>
    %inserted = tensor.insert %arg3 into %concat[%dim, %arg2] : tensor<4x3xf32>
    %from_elements = tensor.from_elements %arg3, %arg3 : tensor<2xf32>
    %cast = tensor.cast %inserted : tensor<4x3xf32> to tensor<?x3xf32>
    %cast_0 = tensor.cast %cast : tensor<?x3xf32> to tensor<4x3xf32>
    %rank = tensor.rank %cast_0 : tensor<4x3xf32>
    %0 = tensor.bitcast %cast_0 : tensor<4x3xf32> to tensor<4x3xi32>
    %splat = tensor.splat %arg3 : tensor<4x3xf32>
    %cst = arith.constant dense<0> : tensor<2x1xindex>
    %gather = tensor.gather %splat[%cst] gather_dims([0]) : (tensor<4x3xf32>, tensor<2x1xindex>) -> tensor<2x1x3xf32>
    %scatter = tensor.scatter %gather into %splat[%cst] scatter_dims([0]) unique : (tensor<2x1x3xf32>, tensor<4x3xf32>, tensor<2x1xindex>) -> tensor<4x3xf32>
    return %scatter : tensor<4x3xf32>
  }
}
