// RUN: fuse-opt %s --fuse-ops | filecheck %s

// Ops on buffers have effects, whatever their dialect: they stay, in their order.
func.func @buffers(%m: memref<4x4xf32>, %a: memref<4x4xf32>, %b: memref<4x4xf32>) {
  %c = arith.constant 0.0 : f32
  linalg.fill ins(%c : f32) outs(%m : memref<4x4xf32>)
  linalg.matmul ins(%a, %b : memref<4x4xf32>, memref<4x4xf32>) outs(%m : memref<4x4xf32>)
  func.return
}
// CHECK-LABEL: func.func @buffers
// CHECK-NEXT:    arith.constant
// CHECK-NEXT:    linalg.fill
// CHECK-NEXT:    linalg.matmul
// CHECK-NEXT:    func.return

// So does an op on tensors whose body writes memory,
func.func @store(%x: tensor<4xf32>, %m: memref<4xf32>, %i: index) -> tensor<4xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    memref.store %a, %m[%i] : memref<4xf32>
    linalg.yield %a : f32
  } -> tensor<4xf32>
  func.return %x : tensor<4xf32>
}
// CHECK-LABEL: func.func @store
// CHECK-NEXT:    linalg.generic
// CHECK:           memref.store

// or reads it.
func.func @load(%x: tensor<4xf32>, %m: memref<4xf32>, %c: f32, %i: index) -> tensor<4xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %l = memref.load %m[%i] : memref<4xf32>
    linalg.yield %l : f32
  } -> tensor<4xf32>
  memref.store %c, %m[%i] : memref<4xf32>
  %y = fuse.relu %0 : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
// CHECK-LABEL: func.func @load
// CHECK-NEXT:    linalg.generic
// CHECK:           memref.load
// CHECK:         memref.store
// CHECK-NEXT:    func.call @fused_relu

// A body that only computes fuses.
func.func @pure(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i32
    %f = arith.sitofp %j : i32 to f32
    %s = arith.addf %a, %f : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %y = fuse.relu %0 : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
// CHECK-LABEL: func.func @pure
// CHECK-NEXT:    func.call @fused_generic_relu
