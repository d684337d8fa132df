// RUN: fuse-opt --stack-growing-states %s | filecheck %s
// RUN: fuse-opt --stack-growing-states --refine-shapes %s | filecheck %s --check-prefix=STATIC

// CHECK-LABEL: func.func @appends
// CHECK:         %0 = fuse.loop limit(%n : tensor<i64>) -> (tensor<?x1x3xf32>) {
// CHECK-NEXT:    ^bb0(%i: tensor<i64>):
// CHECK-NEXT:      %y = fuse.exp %x : tensor<1x3xf32>
// CHECK-NEXT:      fuse.yield %y : tensor<1x3xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %1 = fuse.reshape %0 : (tensor<?x1x3xf32>) -> tensor<?x3xf32>
// CHECK-NEXT:    %all = fuse.concatenate %a, %1 : (tensor<2x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
// STATIC-LABEL: func.func @appends
// STATIC:        fuse.loop limit(%n : tensor<i64>) -> (tensor<4x1x3xf32>)
// STATIC:        fuse.concatenate {{.*}} -> tensor<6x3xf32>
func.func @appends(%x: tensor<1x3xf32>, %a: tensor<2x3xf32>) -> tensor<?x3xf32> {
  %n = arith.constant dense<4> : tensor<i64>
  %all = fuse.loop limit(%n : tensor<i64>) states(%a : tensor<2x3xf32>) -> (tensor<?x3xf32>) {
  ^bb0(%i: tensor<i64>, %acc: tensor<?x3xf32>):
    %y = fuse.exp %x : tensor<1x3xf32>
    %next = fuse.concatenate %acc, %y : (tensor<?x3xf32>, tensor<1x3xf32>) -> tensor<?x3xf32>
    fuse.yield %next : tensor<?x3xf32>
  }
  return %all : tensor<?x3xf32>
}

// The body reads the state for something else.
// CHECK-LABEL: func.func @is_read
// CHECK:         fuse.loop limit(%n : tensor<i64>) states(%a : tensor<2x3xf32>) -> (tensor<?x3xf32>)
func.func @is_read(%a: tensor<2x3xf32>) -> tensor<?x3xf32> {
  %n = arith.constant dense<4> : tensor<i64>
  %all = fuse.loop limit(%n : tensor<i64>) states(%a : tensor<2x3xf32>) -> (tensor<?x3xf32>) {
  ^bb0(%i: tensor<i64>, %acc: tensor<?x3xf32>):
    %y = fuse.sum %acc, axes = [0], keepdims = true : (tensor<?x3xf32>) -> tensor<1x3xf32>
    %next = fuse.concatenate %acc, %y : (tensor<?x3xf32>, tensor<1x3xf32>) -> tensor<?x3xf32>
    fuse.yield %next : tensor<?x3xf32>
  }
  return %all : tensor<?x3xf32>
}
