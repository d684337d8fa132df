// RUN: fuse-opt %s --inline --print-debuginfo | filecheck %s

// Ops of a function that names no line of its own stand where it is called; those with a line keep it.
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: fuse.exp {{.*}} loc(callsite("exp" at "model"("model.py":3:7)))
  // CHECK: fuse.relu {{.*}} loc("own.py":1:1)
  %0 = func.call @library(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("model"("model.py":3:7))
  // CHECK: fuse.exp {{.*}} loc(callsite("exp" at "model"("model.py":4:7)))
  %1 = func.call @library(%0) : (tensor<4xf32>) -> tensor<4xf32> loc("model"("model.py":4:7))
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
func.func private @library(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = fuse.exp %x : tensor<4xf32> loc("exp")
  %1 = fuse.relu %0 : tensor<4xf32> loc("own.py":1:1)
  return %1 : tensor<4xf32>
}
