// RUN: fuse-opt %s --convert-stablehlo-to-fuse="strict=true" --split-input-file --verify-diagnostics | filecheck %s

// CHECK: 'stablehlo.custom_call' op has no equal among the 'fuse' ops
func.func @custom(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK: 'stablehlo.reduce' op has no equal among the 'fuse' ops: a combination of its own: several ops
func.func @reducer(%x: tensor<4xf32>, %s: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.reduce(%x init: %s) across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
   reducer(%a: tensor<f32>, %b: tensor<f32>)  {
    %1 = stablehlo.tanh %a : tensor<f32>
    %2 = stablehlo.add %1, %b : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

// CHECK: 'stablehlo.broadcast_in_dim' op has no equal among the 'fuse' ops: open sizes in tensor<?xf32>
func.func @open_size(%x: tensor<?xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<?xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
