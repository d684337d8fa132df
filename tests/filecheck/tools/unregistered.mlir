// RUN: fuse-opt %s -allow-unregistered-dialect --print-debuginfo | filecheck %s
// RUN: not fuse-opt %s 2>&1 | filecheck %s --check-prefix=ERROR

// CHECK: "mhlo.add"(%{{.*}}, %{{.*}}) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("add.py":3:4)
// ERROR: unregistered.mlir:7:8: error: operation 'mhlo.add' is not registered
func.func @generic_form(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = "mhlo.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("add.py":3:4)
  return %y : tensor<4xf32>
}
