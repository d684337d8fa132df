// RUN: fuse-opt %s --convert-stablehlo-to-fuse="strict=true" | filecheck %s
// RUN: fuse-run %s --random-inputs 0 | filecheck %s --check-prefix=RAN

// Meshes of one device say nothing, and what names them goes: attributes, constraints, computations of each
// device, and sums over all of them.
// CHECK-NOT: sdy
sdy.mesh @empty_mesh = <[]>
sdy.mesh @one = <["x"=1, "y"=1]>

// CHECK-LABEL: func.func @main(%key: tensor<2xui32>, %x: tensor<4x4xf32>) -> (tensor<2xui32>, tensor<4x4xf32>)
// CHECK-NEXT: [[K:%.*]] = fuse.add %key, %key
// CHECK-NEXT: [[Y:%.*]] = fuse.tanh %x
// CHECK-NEXT: [[Z:%.*]] = fuse.exp [[Y]]
// CHECK-NEXT: func.return [[K]], [[Z]]
// RAN: result0: tensor<2xui32>
func.func @main(%key: tensor<2xui32> {sdy.sharding = #sdy.sharding<@empty_mesh, [{}]>}, %x: tensor<4x4xf32>) -> (tensor<2xui32>, tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@one, [{"x"}, {}]>}) {
  %0 = sdy.sharding_constraint %key <@empty_mesh, [{}]> : tensor<2xui32>
  %1 = stablehlo.add %0, %0 {sdy.sharding = #sdy.sharding_per_value<[<@empty_mesh, [{}]>]>} : tensor<2xui32>
  %2 = sdy.sharding_constraint %1 <mesh<["x"=1]>, [{"x"}]> : tensor<2xui32>
  %3 = sdy.manual_computation(%x) in_shardings=[<@one, [{"x"}, {}]>] out_shardings=[<@one, [{"x"}, {}]>] manual_axes={"x"} (%y: tensor<4x4xf32>) {
    %4 = stablehlo.tanh %y : tensor<4x4xf32>
    %5 = stablehlo.exponential %4 : tensor<4x4xf32>
    %6 = "stablehlo.all_reduce"(%5) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %7 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %7 : tensor<f32>
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    sdy.return %6 : tensor<4x4xf32>
  } : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2, %3 : tensor<2xui32>, tensor<4x4xf32>
}
