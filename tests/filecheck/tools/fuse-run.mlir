// RUN: fuse-run %s --random-inputs 0 | filecheck %s --check-prefix=MAIN
// RUN: fuse-run %s --entry splat | filecheck %s --check-prefix=SPLAT
// RUN: fuse-run %s --entry special | filecheck %s --check-prefix=SPECIAL
// RUN: fuse-opt %s --fuse-ops -o %t.mlir && fuse-run %s --random-inputs 0 --compare-with %t.mlir | filecheck %s --check-prefix=SAME

// Inputs are made up for every argument; small outputs are printed in full.
// MAIN:      result0: tensor<4x32xf32> min 0 max {{[0-9.]+}} mean {{[0-9.]+}}
// MAIN-NEXT: result1: tensor<2xi1> = [True, False]
// MAIN-NOT:  result2
// SAME:      result0: max absolute error 0, relative 0: ok
// SAME-NEXT: result1: max absolute error 0, relative 0: ok
func.func @main(%x: tensor<4x32xf32>, %y: tensor<32xf32>) -> (tensor<4x32xf32>, tensor<2xi1>) {
  %sum = fuse.add %x, %y : (tensor<4x32xf32>, tensor<32xf32>) -> tensor<4x32xf32>
  %positive = fuse.relu %sum : tensor<4x32xf32>
  %flags = arith.constant dense<[true, false]> : tensor<2xi1>
  func.return %positive, %flags : tensor<4x32xf32>, tensor<2xi1>
}

// A constant of a billion elements takes four bytes until something reads all of it.
// SPLAT: result0: tensor<2xui8> = [7, 7]
func.func @splat() -> tensor<2xui8> {
  %huge = arith.constant dense<7> : tensor<1000000000xui8>
  %two = fuse.strided_slice %huge, begin = [5], end = [7], strides = [1] : (tensor<1000000000xui8>) -> tensor<2xui8>
  func.return %two : tensor<2xui8>
}

// Infinities and nans arrive as they are spelled.
// SPECIAL: result0: tensor<3xf32> = [-inf, nan, inf]
func.func @special() -> tensor<3xf32> {
  %c = arith.constant dense<[0xFF800000, 0x7FC00000, 0x7F800000]> : tensor<3xf32>
  func.return %c : tensor<3xf32>
}
