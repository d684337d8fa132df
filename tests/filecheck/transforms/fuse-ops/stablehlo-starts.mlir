// RUN: fuse-opt %s --fuse-ops | filecheck %s
// RUN: fuse-opt %s --fuse-ops --convert-stablehlo-to-fuse=strict=true | filecheck %s --check-prefix=FUSE

// What a reduction starts with goes into its kernel, whatever its type: it says that this is an argmin.
// CHECK-LABEL: func.func @argmin_in_f16
// CHECK-NOT: stablehlo.constant
// CHECK: func.call @fused_iota_reduce(%{{.*}}) : (tensor<4x8xf16>)
// FUSE-LABEL: func.func @argmin_in_f16
func.func @argmin_in_f16(%x: tensor<4x8xf16>) -> (tensor<4xf16>, tensor<4xi32>) {
  %p = stablehlo.iota dim = 1 : tensor<4x8xi32>
  %inf = stablehlo.constant dense<0x7C00> : tensor<f16>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.reduce(%x init: %inf), (%p init: %zero) across dimensions = [1]
    : (tensor<4x8xf16>, tensor<4x8xi32>, tensor<f16>, tensor<i32>) -> (tensor<4xf16>, tensor<4xi32>)
   reducer(%a: tensor<f16>, %c: tensor<f16>) (%b: tensor<i32>, %e: tensor<i32>) {
    %0 = stablehlo.compare LT, %a, %c, FLOAT : (tensor<f16>, tensor<f16>) -> tensor<i1>
    %1 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f16>, tensor<f16>) -> tensor<i1>
    %2 = stablehlo.or %0, %1 : tensor<i1>
    %3 = stablehlo.compare EQ, %a, %c, FLOAT : (tensor<f16>, tensor<f16>) -> tensor<i1>
    %4 = stablehlo.compare LT, %b, %e, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %5 = stablehlo.and %3, %4 : tensor<i1>
    %6 = stablehlo.or %2, %5 : tensor<i1>
    %7 = stablehlo.select %2, %a, %c : tensor<i1>, tensor<f16>
    %8 = stablehlo.select %6, %b, %e : tensor<i1>, tensor<i32>
    stablehlo.return %7, %8 : tensor<f16>, tensor<i32>
  }
  return %r#0, %r#1 : tensor<4xf16>, tensor<4xi32>
}

// CHECK-LABEL: func.func private @fused_iota_reduce(%{{.*}}: tensor<4x8xf16>)
// CHECK-DAG: stablehlo.constant dense<0x7C00>
// CHECK-DAG: stablehlo.constant dense<0>
// FUSE-LABEL: func.func private @fused_iota_reduce(
// FUSE: fuse.argmin

// Two kernels that start with one constant have a copy each.
// CHECK-LABEL: func.func @shared_start
// CHECK-NOT: stablehlo.constant
// CHECK: func.call @[[ROWS:.*]](%x) : (tensor<4x8xf32>)
// CHECK: func.call @[[COLUMNS:.*]](%y) : (tensor<4x8xf32>)
func.func @shared_start(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<8xf32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1]
    : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = stablehlo.reduce(%y init: %low) applies stablehlo.maximum across dimensions = [0]
    : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0, %1 : tensor<4xf32>, tensor<8xf32>
}

// CHECK: func.func private @[[ROWS]](%{{.*}}: tensor<4x8xf32>)
// CHECK: func.func private @[[COLUMNS]](%{{.*}}: tensor<4x8xf32>)
