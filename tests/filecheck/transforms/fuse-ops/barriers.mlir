// RUN: fuse-opt %s --fuse-ops --allow-unregistered-dialect | filecheck %s

// The barrier keeps its neighbours apart, and is gone afterwards.
func.func @stop_fusion(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = fuse.exp %x : tensor<8xf32>
  %1 = fuse.stop_fusion %0 : tensor<8xf32>
  %2 = fuse.tanh %1 : tensor<8xf32>
  func.return %2 : tensor<8xf32>
}
// CHECK-LABEL: func.func @stop_fusion
// CHECK-NEXT:    [[E:%.*]] = func.call @fused_exp(%x)
// CHECK-NEXT:    func.call @fused_tanh([[E]])
// CHECK-NEXT:    func.return

// Ops of unknown kind may have effects: they stay where they are, in their order, and nothing fuses across a value
// that they read.
func.func @unknown_ops(%x: tensor<8xf32>) -> tensor<8xf32> {
  "log.begin"() : () -> ()
  %0 = fuse.exp %x : tensor<8xf32>
  "log.value"(%0) : (tensor<8xf32>) -> ()
  %1 = fuse.tanh %0 : tensor<8xf32>
  %2 = fuse.relu %1 : tensor<8xf32>
  "log.end"() : () -> ()
  func.return %2 : tensor<8xf32>
}
// CHECK-LABEL: func.func @unknown_ops
// CHECK-NEXT:    "log.begin"()
// CHECK-NEXT:    [[E:%.*]] = func.call @fused_exp(%x)
// CHECK-NEXT:    "log.value"([[E]])
// CHECK-NEXT:    [[R:%.*]] = func.call @fused_tanh_relu([[E]])
// CHECK-NEXT:    "log.end"()
// CHECK-NEXT:    func.return [[R]]

// Calls are unknown too; functions that are primitive already, or that belong to another compiler, are left alone.
func.func @calls(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = fuse.exp %x : tensor<8xf32>
  %1 = func.call @library(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = func.call @accelerated(%1) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = fuse.tanh %2 : tensor<8xf32>
  func.return %3 : tensor<8xf32>
}
func.func private @library(%x: tensor<8xf32>) -> tensor<8xf32> attributes {primitive} {
  %0 = fuse.exp %x : tensor<8xf32>
  %1 = fuse.exp %0 : tensor<8xf32>
  func.return %1 : tensor<8xf32>
}
func.func private @accelerated(%x: tensor<8xf32>) -> tensor<8xf32> attributes {fuse.compiler = "npu"} {
  %0 = fuse.exp %x : tensor<8xf32>
  func.return %0 : tensor<8xf32>
}
// CHECK-LABEL: func.func @calls
// CHECK-NEXT:    func.call @fused_exp(%x)
// CHECK-NEXT:    func.call @library(
// CHECK-NEXT:    func.call @accelerated(
// CHECK-NEXT:    func.call @fused_tanh(
// CHECK-LABEL: func.func private @library
// CHECK-NEXT:    fuse.exp
// CHECK-NEXT:    fuse.exp
// CHECK-LABEL: func.func private @accelerated
// CHECK-NEXT:    fuse.exp

// A declaration has nothing to fuse.
func.func private @declared(tensor<8xf32>) -> tensor<8xf32>
// CHECK:       func.func private @declared
