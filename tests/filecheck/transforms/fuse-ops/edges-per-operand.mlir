// RUN: fuse-opt %s --fuse-ops --allow-unregistered-dialect | filecheck %s

// What a product of linalg is added to is read where the product is written: its fill is the same kernel.
func.func @fill_of_a_product(%x: tensor<4x8xf32>, %y: tensor<8x16xf32>) -> tensor<4x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
  %0 = linalg.matmul ins(%x, %y : tensor<4x8xf32>, tensor<8x16xf32>) outs(%init : tensor<4x16xf32>) -> tensor<4x16xf32>
  func.return %0 : tensor<4x16xf32>
}
// CHECK-LABEL: func.func @fill_of_a_product
// CHECK-NEXT:    func.call @fused_fill_matmul(%x, %y)
// CHECK-NEXT:    func.return

// What it multiplies is not.
func.func @factor_of_a_product(%x: tensor<4x8xf32>, %y: tensor<8x16xf32>, %init: tensor<4x16xf32>, %e: tensor<4x8xf32>) -> tensor<4x16xf32> {
  %0 = linalg.exp ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = linalg.matmul ins(%0, %y : tensor<4x8xf32>, tensor<8x16xf32>) outs(%init : tensor<4x16xf32>) -> tensor<4x16xf32>
  func.return %1 : tensor<4x16xf32>
}
// CHECK-LABEL: func.func @factor_of_a_product
// CHECK-NEXT:    func.call @fused_exp
// CHECK-NEXT:    func.call @fused_matmul
// CHECK-NEXT:    func.return

#identity = affine_map<(i, j) -> (i, j)>
#swapped = affine_map<(i, j) -> (j, i)>
#one_row = affine_map<(i, j) -> (0, j)>

// An epilogue reads the product in order, whatever it does to its other operand; a row of size 1 is a broadcast.
func.func @epilogue_with_other_orders(%x: tensor<4x8xf32>, %y: tensor<8x16xf32>, %init: tensor<4x16xf32>, %t: tensor<16x4xf32>, %b: tensor<1x16xf32>, %e: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %0 = linalg.matmul ins(%x, %y : tensor<4x8xf32>, tensor<8x16xf32>) outs(%init : tensor<4x16xf32>) -> tensor<4x16xf32>
  %1 = linalg.generic {indexing_maps = [#identity, #swapped, #one_row, #identity], iterator_types = ["parallel", "parallel"]} ins(%0, %t, %b : tensor<4x16xf32>, tensor<16x4xf32>, tensor<1x16xf32>) outs(%e : tensor<4x16xf32>) {
  ^body(%p: f32, %q: f32, %r: f32, %out: f32):
    %s = arith.addf %p, %q : f32
    %u = arith.addf %s, %r : f32
    linalg.yield %u : f32
  } -> tensor<4x16xf32>
  func.return %1 : tensor<4x16xf32>
}
// CHECK-LABEL: func.func @epilogue_with_other_orders
// CHECK-NEXT:    func.call @fused_matmul_generic
// CHECK-NEXT:    func.return

// The other way round it is none: the product is read in another order.
func.func @product_in_another_order(%x: tensor<4x8xf32>, %y: tensor<8x16xf32>, %init: tensor<4x16xf32>, %t: tensor<16x4xf32>, %e: tensor<16x4xf32>) -> tensor<16x4xf32> {
  %0 = linalg.matmul ins(%x, %y : tensor<4x8xf32>, tensor<8x16xf32>) outs(%init : tensor<4x16xf32>) -> tensor<4x16xf32>
  %1 = linalg.generic {indexing_maps = [#swapped, #identity, #identity], iterator_types = ["parallel", "parallel"]} ins(%0, %t : tensor<4x16xf32>, tensor<16x4xf32>) outs(%e : tensor<16x4xf32>) {
  ^body(%p: f32, %q: f32, %out: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<16x4xf32>
  func.return %1 : tensor<16x4xf32>
}
// CHECK-LABEL: func.func @product_in_another_order
// CHECK-NEXT:    func.call @fused_matmul
// CHECK-NEXT:    func.call @fused_generic
// CHECK-NEXT:    func.return

// Equal permutations of an input and the output are none.
func.func @equal_permutations(%x: tensor<4x8xf32>, %y: tensor<8x16xf32>, %init: tensor<4x16xf32>, %e: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %0 = linalg.matmul ins(%x, %y : tensor<4x8xf32>, tensor<8x16xf32>) outs(%init : tensor<4x16xf32>) -> tensor<4x16xf32>
  %1 = linalg.generic {indexing_maps = [#swapped, #swapped], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<4x16xf32>) outs(%e : tensor<4x16xf32>) {
  ^body(%p: f32, %out: f32):
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<4x16xf32>
  func.return %1 : tensor<4x16xf32>
}
// CHECK-LABEL: func.func @equal_permutations
// CHECK-NEXT:    func.call @fused_matmul_generic
// CHECK-NEXT:    func.return

// Sizes that an op reads are computed before its kernel starts; the value that it repeats is computed in it.
func.func @sizes(%x: tensor<4xf32>, %n: tensor<2xi64>, %m: tensor<2xi64>) -> tensor<?x?xf32> {
  %0 = "stablehlo.exponential"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "stablehlo.add"(%n, %m) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %2 = "stablehlo.dynamic_broadcast_in_dim"(%0, %1) <{broadcast_dimensions = array<i64: 1>}> : (tensor<4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  func.return %2 : tensor<?x?xf32>
}
// CHECK-LABEL: func.func @sizes
// CHECK-NEXT:    func.call @fused_add(%n, %m)
// CHECK-NEXT:    func.call @fused_exponential_dynamic_broadcast_in_dim
// CHECK-NEXT:    func.return

func.func @shape_of_a_reshape(%x: tensor<4xf32>, %n: tensor<2xi64>) -> tensor<2x2xf32> {
  %0 = "stablehlo.exponential"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "stablehlo.abs"(%n) : (tensor<2xi64>) -> tensor<2xi64>
  %2 = tensor.reshape %0(%1) : (tensor<4xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  func.return %2 : tensor<2x2xf32>
}
// CHECK-LABEL: func.func @shape_of_a_reshape
// CHECK-NEXT:    func.call @fused_abs
// CHECK-NEXT:    func.call @fused_exponential_reshape
// CHECK-NEXT:    func.return

// A cast to elements of another width regroups them: no epilogue of a product.
func.func @regrouped(%x: tensor<4x8xf32>, %y: tensor<8x16xf32>) -> tensor<4x16x4xi8> {
  %0 = "stablehlo.dot"(%x, %y) : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = "stablehlo.bitcast_convert"(%0) : (tensor<4x16xf32>) -> tensor<4x16x4xi8>
  func.return %1 : tensor<4x16x4xi8>
}
// CHECK-LABEL: func.func @regrouped
// CHECK-NEXT:    func.call @fused_dot
// CHECK-NEXT:    func.call @fused_bitcast_convert
// CHECK-NEXT:    func.return
