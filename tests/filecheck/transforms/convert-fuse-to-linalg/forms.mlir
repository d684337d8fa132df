// RUN: fuse-opt %s --convert-fuse-to-linalg | filecheck %s

// An index is counted from the front, and brought to the nearest end.
// CHECK-LABEL: func.func @gather
// CHECK:         linalg.generic {{.*}} ins(%i : tensor<3xi64>)
// CHECK-NEXT:    ^bb0([[WANTED:%.*]]: i64, {{%.*}}: f32):
// CHECK:           arith.cmpi slt, [[WANTED]]
// CHECK:           [[PLACE:%.*]] = arith.index_cast {{%.*}} : i64 to index
// CHECK-NEXT:      tensor.extract %x[[[PLACE]]] : tensor<8xf32>
func.func @gather(%x: tensor<8xf32>, %i: tensor<3xi64>) -> tensor<3xf32> {
  %y = fuse.gather %x, %i : (tensor<8xf32>, tensor<3xi64>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// A running sum is a reduction for each element.
// CHECK-LABEL: func.func @cumsum
// CHECK:         affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x
// CHECK:           [[PART:%.*]] = arith.select
// CHECK-NEXT:      arith.addf {{%.*}}, [[PART]] : f32
func.func @cumsum(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = fuse.cumsum %x, axis = 0 : tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// Sizes are values: those that are known are numbers.
// CHECK-LABEL: func.func @shape_of
// CHECK:         [[SIZE:%.*]] = tensor.dim %x
// CHECK:         tensor.from_elements {{%.*}}, {{%.*}} : tensor<2xi64>
func.func @shape_of(%x: tensor<?x4xf32>) -> tensor<2xi64> {
  %y = fuse.shape_of %x : (tensor<?x4xf32>) -> tensor<2xi64>
  func.return %y : tensor<2xi64>
}

// What a result has as its size is read from a tensor.
// CHECK-LABEL: func.func @full
// CHECK:         [[NUMBER:%.*]] = tensor.extract %shape[
// CHECK-NEXT:    [[SIZE:%.*]] = arith.index_cast [[NUMBER]] : i64 to index
// CHECK-NEXT:    tensor.empty([[SIZE]]) : tensor<?xf32>
func.func @full(%fill: tensor<f32>, %shape: tensor<1xi64>) -> tensor<?xf32> {
  %y = fuse.dyn_full %fill, %shape : (tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}

// The magnitude alone goes to math.powf: what IREE makes of it is nan for negative bases.
// CHECK-LABEL: func.func @cube
// CHECK:         [[MAGNITUDE:%.*]] = math.absf
// CHECK-NEXT:    [[POWER:%.*]] = math.powf [[MAGNITUDE]]
// CHECK-NEXT:    math.copysign [[POWER]]
func.func @cube(%x: tensor<8xf32>) -> tensor<8xf32> {
  %three = arith.constant dense<3.0> : tensor<f32>
  %y = fuse.power %x, %three : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// Both results of a first few are found by one ranking of one array of keys.
// CHECK-LABEL: func.func @topk
// CHECK:         arith.ori {{.*}} : i1
// CHECK-NOT:     arith.ori {{.*}} : i1
// CHECK:         func.return
func.func @topk(%x: tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>) {
  %y, %z = fuse.topk %x, k = 2 : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)
  func.return %y, %z : tensor<4x2xf32>, tensor<4x2xi64>
}
