// RUN: fuse-opt --prove-indices --split-input-file %s | filecheck %s

// Positions as masks have them: two ranges side by side, each within its axis.
// CHECK-LABEL: func.func @mask
// CHECK:         fuse.gather_nd %{{.*}}, %{{.*}}, mode = "fast"
func.func @mask(%x: tensor<4x6xi1>) -> tensor<4x6xi1> {
  %i = fuse.arange stop = 4.0 -> tensor<4xi64>
  %j = fuse.arange stop = 6.0 -> tensor<6xi64>
  %a = fuse.expand_dims %i, axis = 1, num_newaxis = 2 : (tensor<4xi64>)
  %b = fuse.broadcast_to %a : (tensor<4x1x1xi64>) -> tensor<4x6x1xi64>
  %c = fuse.expand_dims %j, axis = 1 : (tensor<6xi64>)
  %d = fuse.broadcast_to %c : (tensor<6x1xi64>) -> tensor<4x6x1xi64>
  %p = fuse.concatenate %b, %d, axis = 2 : (tensor<4x6x1xi64>, tensor<4x6x1xi64>)
  %y = fuse.gather_nd %x, %p : (tensor<4x6xi1>, tensor<4x6x2xi64>)
  return %y : tensor<4x6xi1>
}

// -----

// The same numbers the other way round: 5 is no row.
// CHECK-LABEL: func.func @too_far
// CHECK:         fuse.gather_nd
// CHECK-NOT:     fast
func.func @too_far(%x: tensor<4x6xi1>) -> tensor<6xi1> {
  %j = fuse.arange stop = 6.0 -> tensor<6xi64>
  %p = fuse.stack %j, %j, axis = 1 : (tensor<6xi64>, tensor<6xi64>) -> tensor<6x2xi64>
  %y = fuse.gather_nd %x, %p : (tensor<4x6xi1>, tensor<6x2xi64>)
  return %y : tensor<6xi1>
}

// -----

// Brought into range by a minimum and a maximum, and counted from the end.
// CHECK-LABEL: func.func @clamped
// CHECK:         fuse.gather %x, %{{.*}}, axis = 1, mode = "fast"
// CHECK:         fuse.gather %x, %{{.*}}, axis = 1 :
func.func @clamped(%x: tensor<2x5xf32>, %i: tensor<2x3xi32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %low = arith.constant dense<-5> : tensor<i32>
  %high = arith.constant dense<4> : tensor<i32>
  %a = fuse.maximum %i, %low : (tensor<2x3xi32>, tensor<i32>)
  %b = fuse.minimum %a, %high : (tensor<2x3xi32>, tensor<i32>)
  %y = fuse.gather %x, %b, axis = 1 : (tensor<2x5xf32>, tensor<2x3xi32>)
  %z = fuse.gather %x, %a, axis = 1 : (tensor<2x5xf32>, tensor<2x3xi32>)
  return %y, %z : tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

// An open size proves nothing, nor does a sum that may go round.
// CHECK-LABEL: func.func @unknown
// CHECK-NOT:     fast
func.func @unknown(%x: tensor<?xf32>, %v: tensor<100xf32>, %i: tensor<3xi8>) -> (tensor<3xf32>, tensor<3xf32>) {
  %zero = arith.constant dense<0> : tensor<3xi64>
  %y = fuse.gather %x, %zero : (tensor<?xf32>, tensor<3xi64>)
  %low = arith.constant dense<99> : tensor<3xi8>
  %sum = fuse.add %low, %low : tensor<3xi8>
  %z = fuse.gather %v, %sum : (tensor<100xf32>, tensor<3xi8>)
  return %y, %z : tensor<3xf32>, tensor<3xf32>
}
