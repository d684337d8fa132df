// RUN: fuse-opt %s --fuse-ops="form=inline" | filecheck %s
// RUN: fuse-opt %s --fuse-ops --inline-fused | filecheck %s
// RUN: fuse-opt %s --fuse-ops="form=inline" --fuse-ops --inline-fused | filecheck %s
// RUN: fuse-opt %s --fuse-ops="form=inline" --outline-fused | filecheck %s --check-prefix FUNCTIONS
// RUN: fuse-opt %s --fuse-ops="form=inline" --defuse-ops | filecheck %s --check-prefix APART
// RUN: fuse-opt %s --fuse-ops="form=inline" -p cse,dce | filecheck %s --check-prefix ONE

// A kernel in its place takes what it reads as arguments, and yields what it stores; its call's attributes stay.
func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = fuse.exp %x : tensor<4xf32>
  %1 = fuse.relu %0 : tensor<4xf32>
  %2 = fuse.stop_fusion %1 : tensor<4xf32>
  %3 = fuse.exp %x : tensor<4xf32>
  %4 = fuse.relu %3 : tensor<4xf32>
  %5 = fuse.stop_fusion %4 : tensor<4xf32>
  %6 = fuse.add %2, %5 : tensor<4xf32>
  func.return %6 : tensor<4xf32>
}
// CHECK-LABEL: func.func @twice
// CHECK-NEXT:    %{{.*}} = fuse.fused "fused_exp_relu"(%x) : (tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:    ^{{.*}}(%[[X:.*]]: tensor<4xf32>):
// CHECK-NEXT:      %[[E:.*]] = fuse.exp %[[X]] : tensor<4xf32>
// CHECK-NEXT:      %[[R:.*]] = fuse.relu %[[E]] : tensor<4xf32>
// CHECK-NEXT:      fuse.yield %[[R]] : tensor<4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    fuse.fused "fused_exp_relu"(%x)
// CHECK:         fuse.fused "fused_add"
// CHECK-NOT:     func.func private

// FUNCTIONS-LABEL: func.func @twice
// FUNCTIONS-NEXT:    %[[A:.*]] = func.call @fused_exp_relu(%x)
// FUNCTIONS-NEXT:    %[[B:.*]] = func.call @fused_exp_relu(%x)
// FUNCTIONS-NEXT:    func.call @fused_add(%[[A]], %[[B]])
// FUNCTIONS:       func.func private @fused_exp_relu
// FUNCTIONS:       func.func private @fused_add

// APART-LABEL: func.func @twice
// APART-NEXT:    fuse.exp
// APART-NEXT:    fuse.relu
// APART-NEXT:    fuse.exp
// APART-NEXT:    fuse.relu
// APART-NEXT:    fuse.add

// ONE-LABEL: func.func @twice
// ONE-NEXT:    %[[A:.*]] = fuse.fused "fused_exp_relu"(%x)
// ONE-NOT:     fused_exp_relu
// ONE:         fuse.fused "fused_add"(%[[A]], %[[A]])

// What a function is marked with stays, too.
func.func @view(%x: tensor<4x2xf32>) -> tensor<8xf32> {
  %0 = fuse.reshape %x : (tensor<4x2xf32>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}
// CHECK-LABEL: func.func @view
// CHECK-NEXT:    fuse.fused "fused_reshape"(%x) attributes {fuse.reshape_only} : (tensor<4x2xf32>) -> tensor<8xf32> {

// FUNCTIONS-LABEL: func.func @view
// FUNCTIONS:       func.func private @fused_reshape{{.*}} attributes {primitive, fuse.reshape_only}
