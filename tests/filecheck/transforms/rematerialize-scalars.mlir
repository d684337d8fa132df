// RUN: fuse-opt --rematerialize-scalars --fuse-ops %s | filecheck %s

// Each of the two kernels has the number as a literal, and so has the body of the loop; the vector stays an argument.
// CHECK-LABEL: func.func @main
// CHECK:         %[[V:.*]] = arith.constant dense<3.000000e+00> : tensor<4xf32>
// CHECK-NOT:     arith.constant
// CHECK:         call @fused_power(%x) : (tensor<4x4xf32>)
// CHECK:         fuse.loop
// CHECK:           call @[[BODY:.*]](%{{.*}}, %[[V]])
// CHECK-LABEL: func.func private @fused_power
// CHECK-NEXT:    arith.constant dense<2.000000e+00> : tensor<f32>
// CHECK:       func.func private @[[BODY]]
// CHECK-NEXT:    arith.constant dense<2.000000e+00> : tensor<f32>
func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %two = arith.constant dense<2.0> : tensor<f32>
  %three = arith.constant dense<3.0> : tensor<4xf32>
  %a = fuse.power %x, %two : (tensor<4x4xf32>, tensor<f32>)
  %s = fuse.softmax %a : tensor<4x4xf32>
  %n = arith.constant dense<5> : tensor<i64>
  %r = fuse.loop limit(%n : tensor<i64>) states(%s : tensor<4x4xf32>) -> (tensor<4x4xf32>) {
  ^bb0(%i: tensor<i64>, %v: tensor<4x4xf32>):
    %p = fuse.power %v, %two : (tensor<4x4xf32>, tensor<f32>)
    %q = fuse.add %p, %three : (tensor<4x4xf32>, tensor<4xf32>)
    fuse.yield %q : tensor<4x4xf32>
  }
  return %r : tensor<4x4xf32>
}
