// RUN: fuse-opt %s --fuse-ops --extract-primitives | filecheck %s
// RUN: fuse-opt %s --fuse-ops="dedup=false" --extract-primitives | filecheck %s
// RUN: fuse-opt %s --fuse-ops --extract-primitives | fuse-opt - --fuse-ops | filecheck %s

// Two equal groups and one of another type; the module inside has a third group that is equal, and a name of its own.
func.func @program(%x: tensor<8xf32>, %y: tensor<4xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  %0 = fuse.exp %x : tensor<8xf32>
  %1 = fuse.sort %0 : tensor<8xf32>
  %2 = fuse.exp %1 : tensor<8xf32>
  %3 = fuse.exp %y : tensor<4xf32>
  func.return %2, %3 : tensor<8xf32>, tensor<4xf32>
}
builtin.module @inside {
  func.func @program(%x: tensor<8xf32>, %y: tensor<2xf32>) -> (tensor<2xf32>, tensor<8xf32>) {
    %0 = fuse.exp %y : tensor<2xf32>
    %1 = fuse.exp %x : tensor<8xf32>
    func.return %0, %1 : tensor<2xf32>, tensor<8xf32>
  }
}
func.func private @mine(%x: tensor<4xf32>) -> tensor<4xf32> attributes {primitive} {
  %0 = func.call @helper(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
func.func @helper(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}

// CHECK-NOT:   @program
// CHECK:       builtin.module {
// CHECK:         builtin.module @fused_exp attributes {fuse.calls = 3 : i64} {
// CHECK-NEXT:      func.func @fused_exp(%{{.*}}: tensor<8xf32>) -> tensor<8xf32> attributes {primitive} {
// CHECK-NEXT:        fuse.exp
// CHECK-NEXT:        func.return
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK:         builtin.module @fused_sort attributes {fuse.calls = 1 : i64} {
// CHECK:         builtin.module @fused_exp_{{[01]}} attributes {fuse.calls = 1 : i64} {
// CHECK-NEXT:      func.func @fused_exp_{{[01]}}(%{{.*}}: tensor<4xf32>)
// CHECK-NOT:   @program
// CHECK:         builtin.module @mine attributes {fuse.calls = 0 : i64} {
// CHECK-NEXT:      func.func @mine
// CHECK:           func.func private @helper
// CHECK-NOT:   @program
