// RUN: FUSE_ROUNDTRIP

// The last axis is the default, and is not printed.
// CHECK-LABEL: func.func @softmax_along_an_axis
func.func @softmax_along_an_axis(%a: tensor<?x3xf32>) {
  // CHECK: fuse.softmax %a : tensor<?x3xf32>
  %0 = fuse.softmax %a : tensor<?x3xf32>
  // CHECK: fuse.softmax %a, axis = 0 : tensor<?x3xf32>
  %1 = fuse.softmax %a, axis = 0 : tensor<?x3xf32>
  // CHECK: fuse.log_softmax %a : tensor<?x3xf32>
  %2 = fuse.log_softmax %a, axis = -1 : tensor<?x3xf32>
  // CHECK: fuse.log_softmax %a, axis = 1 : tensor<?x3xf32>
  %3 = fuse.log_softmax %a, axis = 1 : tensor<?x3xf32>
  return
}

// The axis of the channels decides the size of all other operands.
// CHECK-LABEL: func.func @norms_have_one_number_a_channel
func.func @norms_have_one_number_a_channel(%x: tensor<?x3x4xf32>, %g: tensor<3xf32>, %v: tensor<?xf32>, %h: tensor<4xf32>, %l: tensor<4xf16>) {
  // CHECK: fuse.batch_norm %x, %g, %g, %g, %v : (tensor<?x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<?xf32>) -> tensor<?x3x4xf32>
  %0 = fuse.batch_norm %x, %g, %g, %g, %v : (tensor<?x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<?xf32>)
  // CHECK: fuse.batch_norm %l, %l, %l, %l, %l, axis = 0, epsilon = 0.001 : tensor<4xf16>
  %1 = fuse.batch_norm %l, %l, %l, %l, %l, axis = 0, epsilon = 0.001 : tensor<4xf16>
  // CHECK: fuse.layer_norm %x, %h, %h : (tensor<?x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x3x4xf32>
  %2 = fuse.layer_norm %x, %h, %h : (tensor<?x3x4xf32>, tensor<4xf32>, tensor<4xf32>)
  // CHECK: fuse.layer_norm %x, %g, %g, axis = 1, epsilon = 1.0e-12 : (tensor<?x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<?x3x4xf32>
  %3 = fuse.layer_norm %x, %g, %g, axis = 1, epsilon = 1.0e-12 : (tensor<?x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  // CHECK: fuse.instance_norm %x, %g, %g, epsilon = 0.5 : (tensor<?x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<?x3x4xf32>
  %4 = fuse.instance_norm %x, %g, %g, epsilon = 0.5 : (tensor<?x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  // CHECK: fuse.instance_norm %x, %h, %h, axis = 2 : (tensor<?x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x3x4xf32>
  %5 = fuse.instance_norm %x, %h, %h, axis = 2 : (tensor<?x3x4xf32>, tensor<4xf32>, tensor<4xf32>)
  // CHECK: fuse.group_norm %x, %g, %g, num_groups = 3 : (tensor<?x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<?x3x4xf32>
  %6 = fuse.group_norm %x, %g, %g, num_groups = 3 : (tensor<?x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  // CHECK: fuse.group_norm %x, %h, %h, num_groups = 2, axis = -1, epsilon = 0.25 : (tensor<?x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x3x4xf32>
  %7 = fuse.group_norm %x, %h, %h, num_groups = 2, axis = -1, epsilon = 0.25 : (tensor<?x3x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// The values give the element type.
// CHECK-LABEL: func.func @one_hot_adds_an_axis
func.func @one_hot_adds_an_axis(%i: tensor<?x2xi64>, %f: tensor<f32>, %b: tensor<i1>) {
  // CHECK: fuse.one_hot %i, %f, %f, depth = 5 : (tensor<?x2xi64>, tensor<f32>, tensor<f32>) -> tensor<?x2x5xf32>
  %0 = fuse.one_hot %i, %f, %f, depth = 5 : (tensor<?x2xi64>, tensor<f32>, tensor<f32>)
  // CHECK: fuse.one_hot %i, %b, %b, depth = 5, axis = 0 : (tensor<?x2xi64>, tensor<i1>, tensor<i1>) -> tensor<5x?x2xi1>
  %1 = fuse.one_hot %i, %b, %b, depth = 5, axis = 0 : (tensor<?x2xi64>, tensor<i1>, tensor<i1>)
  return
}
