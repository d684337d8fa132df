// RUN: FUSE_ROUNDTRIP

// Both parts of complex numbers, there and back.
// CHECK-LABEL: func.func @complex
func.func @complex(%re: tensor<4x8xf32>, %im: tensor<?x8xf32>) {
  // CHECK: fuse.fft %re, %im : (tensor<4x8xf32>, tensor<?x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
  %0:2 = fuse.fft %re, %im : (tensor<4x8xf32>, tensor<?x8xf32>)
  // CHECK: fuse.fft %re, %im, inverse = true, axes = [0, 1]
  %1:2 = fuse.fft %re, %im, axes = [0, 1], inverse = true : (tensor<4x8xf32>, tensor<?x8xf32>)
  return
}

// Half of the transform of real numbers, and the numbers again.
// CHECK-LABEL: func.func @halves
func.func @halves(%x: tensor<4x9xf64>) {
  // CHECK: fuse.rfft %x, axes = [0, 1] : (tensor<4x9xf64>) -> (tensor<4x5xf64>, tensor<4x5xf64>)
  %0:2 = fuse.rfft %x, axes = [0, 1] : (tensor<4x9xf64>)
  // CHECK: fuse.irfft %{{.*}}, %{{.*}}, length = 9, axes = [0, 1] : (tensor<4x5xf64>, tensor<4x5xf64>) -> tensor<4x9xf64>
  %1 = fuse.irfft %0#0, %0#1, axes = [0, 1], length = 9 : (tensor<4x5xf64>, tensor<4x5xf64>)
  return
}
