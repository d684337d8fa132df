// RUN: fuse-opt %s --mlir-elide-elementsattrs-if-larger=2 | fuse-opt - | filecheck %s

// Constants of more elements than the limit are elided, except splats; the result can be read again.

// CHECK-LABEL: func.func @elided
func.func @elided() {
  // CHECK: arith.constant dense_resource<__elided__> : tensor<3xf32>
  %0 = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  // CHECK: arith.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  %1 = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  // CHECK: arith.constant dense<1.000000e+00> : tensor<9xf32>
  %2 = arith.constant dense<1.0> : tensor<9xf32>
  // CHECK: arith.constant dense_resource<__elided__> : tensor<4xi32>
  %3 = arith.constant dense_resource<__elided__> : tensor<4xi32>
  return
}
