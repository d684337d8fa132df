// RUN: fuse-opt %s --simplify-inference | filecheck %s
// RUN: fuse-opt %s --simplify-inference=expand-norms=false | filecheck %s --check-prefix=WHOLE
// RUN: fuse-opt %s --simplify-inference="fold-constants=false" | filecheck %s --check-prefix=KEEP

// Parameters that are constants are folded into one factor and one term per channel.
// CHECK-LABEL: func.func @batch_norm_of_constants
// CHECK-NEXT:    [[SCALE:%.*]] = arith.constant dense<[{{\[\[}}1.000000e+00]], {{\[\[}}4.000000e+00]]]> : tensor<2x1x1xf32>
// CHECK-NEXT:    [[SCALED:%.*]] = fuse.multiply %x, [[SCALE]]
// CHECK-NEXT:    [[SHIFT:%.*]] = arith.constant dense<[{{\[\[}}4.000000e+00]], {{\[\[}}-3.000000e+00]]]> : tensor<2x1x1xf32>
// CHECK-NEXT:    [[Y:%.*]] = fuse.add [[SCALED]], [[SHIFT]]
// CHECK-NEXT:    func.return [[Y]]
// KEEP-LABEL: func.func @batch_norm_of_constants
// KEEP:         fuse.sqrt
func.func @batch_norm_of_constants(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %gamma = arith.constant dense<[0.5, 4.0]> : tensor<2xf32>
  %beta = arith.constant dense<[5.0, 1.0]> : tensor<2xf32>
  %mean = arith.constant dense<1.0> : tensor<2xf32>
  %variance = arith.constant dense<[0.25, 1.0]> : tensor<2xf32>
  %y = fuse.batch_norm %x, %gamma, %beta, %mean, %variance, epsilon = 0.0 : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  func.return %y : tensor<1x2x4x4xf32>
}

// Parameters that are arguments give the ops that TVM emits; their attributes and name move to the last one.
// CHECK-LABEL: func.func @batch_norm_of_arguments
// CHECK-DAG:     [[ONE:%.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK-DAG:     [[EPSILON:%.*]] = arith.constant dense<1.000000e-03> : tensor<f32>
// CHECK:         [[SUM:%.*]] = fuse.add %variance, [[EPSILON]]
// CHECK-NEXT:    [[DEVIATION:%.*]] = fuse.sqrt [[SUM]]
// CHECK-NEXT:    [[INVERSE:%.*]] = fuse.divide [[ONE]], [[DEVIATION]]
// CHECK-NEXT:    [[SCALE:%.*]] = fuse.multiply [[INVERSE]], %gamma
// CHECK-NEXT:    [[WIDE_SCALE:%.*]] = fuse.expand_dims [[SCALE]], axis = 1, num_newaxis = 2
// CHECK-NEXT:    [[SCALED:%.*]] = fuse.multiply %x, [[WIDE_SCALE]]
// CHECK-NEXT:    [[NEGATIVE:%.*]] = fuse.negative %mean
// CHECK-NEXT:    [[OFFSET:%.*]] = fuse.multiply [[NEGATIVE]], [[SCALE]]
// CHECK-NEXT:    [[SHIFT:%.*]] = fuse.add [[OFFSET]], %beta
// CHECK-NEXT:    [[WIDE_SHIFT:%.*]] = fuse.expand_dims [[SHIFT]], axis = 1, num_newaxis = 2
// CHECK-NEXT:    %y = fuse.add [[SCALED]], [[WIDE_SHIFT]] {layer = "stem"}
// CHECK-NEXT:    func.return %y
func.func @batch_norm_of_arguments(%x: tensor<1x2x4x4xf32>, %gamma: tensor<2xf32>, %beta: tensor<2xf32>, %mean: tensor<2xf32>, %variance: tensor<2xf32>) -> tensor<1x2x4x4xf32> {
  %y = fuse.batch_norm %x, %gamma, %beta, %mean, %variance, epsilon = 1.0e-3 {layer = "stem"} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  func.return %y : tensor<1x2x4x4xf32>
}

// A dropout does nothing in inference.
// CHECK-LABEL: func.func @dropout
// CHECK-NEXT:    func.return %x
func.func @dropout(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = fuse.dropout %x, rate = 0.1 : tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// A layer norm over the last axis needs no new axes for its parameters.
// WHOLE-LABEL: func.func @layer_norm(
// WHOLE-NEXT:    fuse.layer_norm
// CHECK-LABEL: func.func @layer_norm
// CHECK-NEXT:    [[MEAN:%.*]] = fuse.mean %x, axes = [-1], keepdims = true
// CHECK-NEXT:    [[VARIANCE:%.*]] = fuse.variance %x, axes = [-1], keepdims = true
// CHECK-NEXT:    [[EPSILON:%.*]] = arith.constant
// CHECK-NEXT:    [[SUM:%.*]] = fuse.add [[VARIANCE]], [[EPSILON]]
// CHECK-NEXT:    [[DEVIATION:%.*]] = fuse.sqrt [[SUM]]
// CHECK-NEXT:    [[CENTERED:%.*]] = fuse.subtract %x, [[MEAN]]
// CHECK-NEXT:    [[NORMAL:%.*]] = fuse.divide [[CENTERED]], [[DEVIATION]]
// CHECK-NEXT:    [[SCALED:%.*]] = fuse.multiply [[NORMAL]], %gamma
// CHECK-NEXT:    fuse.add [[SCALED]], %beta
func.func @layer_norm(%x: tensor<8x128xf32>, %gamma: tensor<128xf32>, %beta: tensor<128xf32>) -> tensor<8x128xf32> {
  %y = fuse.layer_norm %x, %gamma, %beta : (tensor<8x128xf32>, tensor<128xf32>, tensor<128xf32>) -> tensor<8x128xf32>
  func.return %y : tensor<8x128xf32>
}

// An instance norm reduces all axes but the batch and the channels.
// CHECK-LABEL: func.func @instance_norm
// CHECK:         fuse.mean %x, axes = [2, 3], keepdims = true
// CHECK:         fuse.expand_dims %gamma, axis = 1, num_newaxis = 2
// CHECK-NOT:     fuse.instance_norm
func.func @instance_norm(%x: tensor<2x3x4x4xf32>, %gamma: tensor<3xf32>, %beta: tensor<3xf32>) -> tensor<2x3x4x4xf32> {
  %y = fuse.instance_norm %x, %gamma, %beta : (tensor<2x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4x4xf32>
  func.return %y : tensor<2x3x4x4xf32>
}

// A group norm splits the channels into groups; one dynamic dimension is no obstacle.
// CHECK-LABEL: func.func @group_norm
// CHECK-NEXT:    [[GROUPED:%.*]] = fuse.reshape %x : (tensor<?x6x5xf32>) -> tensor<?x2x3x5xf32>
// CHECK-NEXT:    fuse.mean [[GROUPED]], axes = [2, 3], keepdims = true
// CHECK:         fuse.reshape {{.*}} -> tensor<?x6x5xf32>
func.func @group_norm(%x: tensor<?x6x5xf32>, %gamma: tensor<6xf32>, %beta: tensor<6xf32>) -> tensor<?x6x5xf32> {
  %y = fuse.group_norm %x, %gamma, %beta, num_groups = 2 : (tensor<?x6x5xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<?x6x5xf32>
  func.return %y : tensor<?x6x5xf32>
}

// With two dynamic dimensions the reshape to groups could not say which size is which.
// CHECK-LABEL: func.func @group_norm_of_two_unknown_sizes
// CHECK-NEXT:    fuse.group_norm
func.func @group_norm_of_two_unknown_sizes(%x: tensor<?x6x?xf32>, %gamma: tensor<6xf32>, %beta: tensor<6xf32>) -> tensor<?x6x?xf32> {
  %y = fuse.group_norm %x, %gamma, %beta, num_groups = 2 : (tensor<?x6x?xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<?x6x?xf32>
  func.return %y : tensor<?x6x?xf32>
}

// A primitive function is finished.
// CHECK-LABEL: func.func private @fused_dropout
// CHECK-NEXT:    fuse.dropout
func.func private @fused_dropout(%x: tensor<2xf32>) -> tensor<2xf32> attributes {primitive} {
  %y = fuse.dropout %x : tensor<2xf32>
  func.return %y : tensor<2xf32>
}
