// RUN: fuse-opt --rematerialize-scalars --fuse-ops --split-input-file %s | filecheck %s

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

// -----

// One element with axes is a literal where it is broadcast to a value that has them, too. Where it gives the result its
// axis, or is no operand of an op that broadcasts, it stays as it is.
// CHECK-LABEL: func.func @axes
// CHECK:         %[[W:.*]] = arith.constant dense<2.000000e+00> : tensor<1xf32>
// CHECK:         call @fused_power_where(%x, %c)
// CHECK:         call @fused_add(%y, %[[W]])
// CHECK:         call @fused_concatenate(%z, %[[W]])
func.func @axes(%x: tensor<?x4xf32>, %y: tensor<f32>, %z: tensor<1xf32>, %c: tensor<4xi1>) -> (tensor<?x4xf32>, tensor<1xf32>, tensor<2xf32>) {
  %two = arith.constant dense<2.0> : tensor<1xf32>
  %a = fuse.power %x, %two : (tensor<?x4xf32>, tensor<1xf32>)
  %w = fuse.where %c, %a, %two : (tensor<4xi1>, tensor<?x4xf32>, tensor<1xf32>) -> tensor<?x4xf32>
  %b = fuse.add %y, %two : (tensor<f32>, tensor<1xf32>)
  %d = fuse.concatenate %z, %two, axis = 0 : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
  return %w, %b, %d : tensor<?x4xf32>, tensor<1xf32>, tensor<2xf32>
}
