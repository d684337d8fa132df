// RUN: fuse-opt %s | filecheck %s
// RUN: fuse-opt %s --print-op-generic | fuse-opt | filecheck %s
// RUN: fuse-opt %s --fuse-ops | filecheck %s --check-prefix=FUSED

// What JAX prints for two devices is printed as it was; ops fuse on both sides of a constraint, and inside.
// CHECK: sdy.mesh @mesh = <["x"=2]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}]}}
sdy.mesh @mesh = <["x"=2]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}]}}

// CHECK: func.func public @main(%x: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
func.func public @main(%x: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<2x4xf32> {
  %0 = stablehlo.tanh %x : tensor<4x4xf32>
  %1 = stablehlo.sine %0 : tensor<4x4xf32>
  // CHECK: [[C:%.*]] = sdy.sharding_constraint {{%.*}} <@mesh, [{}, {"x"}]> : tensor<4x4xf32>
  // FUSED: func.call @fused_tanh_sine
  // FUSED-NEXT: sdy.sharding_constraint
  %2 = sdy.sharding_constraint %1 <@mesh, [{}, {"x"}]> : tensor<4x4xf32>
  // CHECK-NEXT: sdy.manual_computation([[C]]) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{}, {}]>] manual_axes={"x"} (%y: tensor<2x4xf32>) {
  // FUSED-NEXT: sdy.manual_computation
  // FUSED-NEXT: func.call @fused_sine_exponential
  %3 = sdy.manual_computation(%2) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{}, {}]>] manual_axes={"x"} (%y: tensor<2x4xf32>) {
    %4 = stablehlo.sine %y : tensor<2x4xf32>
    %5 = stablehlo.exponential %4 : tensor<2x4xf32>
    // CHECK: sdy.return
    sdy.return %5 : tensor<2x4xf32>
    // CHECK-NEXT: } : (tensor<4x4xf32>) -> tensor<2x4xf32>
  } : (tensor<4x4xf32>) -> tensor<2x4xf32>
  return %3 : tensor<2x4xf32>
}
