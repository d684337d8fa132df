// RUN: fuse-opt %s --fold-constants | filecheck %s

// An op that reads an argument stays, and so do its constants.
// CHECK-LABEL: func.func @argument
// CHECK:         fuse.add
func.func @argument(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = arith.constant dense<1.0> : tensor<2xf32>
  %y = fuse.add %x, %a : tensor<2xf32>
  func.return %y : tensor<2xf32>
}

// Elements that are not in the module cannot be computed with.
// CHECK-LABEL: func.func @elided
// CHECK:         dense_resource<__elided__>
// CHECK:         fuse.negative
func.func @elided() -> tensor<2xf32> {
  %a = arith.constant dense_resource<__elided__> : tensor<2xf32>
  %y = fuse.negative %a : tensor<2xf32>
  func.return %y : tensor<2xf32>
}

// A constant has a static type, so a dynamic result stays.
// CHECK-LABEL: func.func @dynamic
// CHECK:         fuse.reshape
func.func @dynamic() -> tensor<?xf32> {
  %a = arith.constant dense<1.0> : tensor<2xf32>
  %y = fuse.reshape %a : (tensor<2xf32>) -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}

// Whoever runs the program shall hear of an index out of range.
// CHECK-LABEL: func.func @out_of_range
// CHECK:         fuse.gather
func.func @out_of_range() -> tensor<1xf32> {
  %a = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %i = arith.constant dense<5> : tensor<1xi64>
  %y = fuse.gather %a, %i, axis = 0 : (tensor<2xf32>, tensor<1xi64>) -> tensor<1xf32>
  func.return %y : tensor<1xf32>
}

// A barrier is no computation.
// CHECK-LABEL: func.func @barrier
// CHECK:         fuse.stop_fusion
func.func @barrier() -> tensor<2xf32> {
  %a = arith.constant dense<1.0> : tensor<2xf32>
  %y = fuse.stop_fusion %a : tensor<2xf32>
  func.return %y : tensor<2xf32>
}

// A sum over a splat that stands for terabytes would take hours.
// CHECK-LABEL: func.func @work
// CHECK:         fuse.sum
func.func @work() -> tensor<f32> {
  %a = arith.constant dense<1.0> : tensor<1000000x1000000xf32>
  %y = fuse.sum %a : (tensor<1000000x1000000xf32>) -> tensor<f32>
  func.return %y : tensor<f32>
}

// No array of NumPy has as many bytes, not even one that repeats an element.
// CHECK-LABEL: func.func @no_array
// CHECK:         fuse.full
func.func @no_array() -> tensor<4611686018427387904x4xf32> {
  %a = arith.constant dense<1.0> : tensor<f32>
  %y = fuse.full %a : (tensor<f32>) -> tensor<4611686018427387904x4xf32>
  func.return %y : tensor<4611686018427387904x4xf32>
}

// Finished functions are left alone, those of other compilers as well.
// CHECK-LABEL: func.func private @primitive
// CHECK:         fuse.negative
func.func private @primitive() -> tensor<2xf32> attributes {primitive} {
  %a = arith.constant dense<1.0> : tensor<2xf32>
  %y = fuse.negative %a : tensor<2xf32>
  func.return %y : tensor<2xf32>
}
