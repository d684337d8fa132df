// RUN: fuse-opt %s --convert-stablehlo-to-fuse="strict=true" --split-input-file --verify-diagnostics
// RUN: fuse-opt %s --convert-stablehlo-to-fuse --split-input-file | filecheck %s

// A mesh of several devices is an error where everything has to be said, and stays elsewhere.
sdy.mesh @mesh = <["x"=2]>

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: sdy.sharding_constraint %x <@mesh, [{"x"}]>
  // expected-error@+1 {{'sdy.sharding_constraint' op is spread over a mesh of 2 devices, and a program runs on one}}
  %0 = sdy.sharding_constraint %x <@mesh, [{"x"}]> : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error@+1 {{'func.func' op is spread over a mesh that is not known, and a program runs on one}}
func.func @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@gone, [{}]>}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
