// RUN: fuse-opt %s --split-input-file --verify-diagnostics | filecheck %s

func.func @operands(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = fuse.fused "k"(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<8xf32>):
    %c = arith.constant dense<0.0> : tensor<4xf32>
    fuse.yield %c : tensor<4xf32>
  }
  func.return %0 : tensor<4xf32>
}
// CHECK: expects operands of the types that its body has, (tensor<8xf32>)

// -----

func.func @results(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = fuse.fused "k"(%x) : (tensor<4xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<4xf32>):
    fuse.yield %a : tensor<4xf32>
  }
  func.return %x : tensor<4xf32>
}
// CHECK: expects results of the types that its body has, (tensor<4xf32>)

// -----

func.func @captured(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = fuse.fused "k"() : () -> tensor<4xf32> {
    fuse.yield %x : tensor<4xf32>
  }
  func.return %0 : tensor<4xf32>
}
// CHECK: Operation using value defined out of its IsolatedFromAbove parent
