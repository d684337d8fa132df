// REQUIRES: safetensors
// RUN: fuse-opt %s -o %t.mlir --weights %t.safetensors && filecheck %s --input-file %t.mlir
// RUN: fuse-opt %t.mlir | filecheck %s
// RUN: fuse-run %s --random-inputs 0 --compare-with %t.mlir --weights %t.safetensors | filecheck %s --check-prefix=SAME
// RUN: fuse-opt %t.mlir --input-weights %t.safetensors -o %t2.mlir --weights %t2.safetensors
// RUN: cmp %t.mlir %t2.mlir && cmp %t.safetensors %t2.safetensors
// RUN: not fuse-run %t.mlir --random-inputs 0 2>&1 | filecheck %s --check-prefix=NEEDED
// RUN: not fuse-opt %t.mlir --weights %t3.safetensors 2>&1 | filecheck %s --check-prefix=ELSEWHERE

// A constant of more than 100 elements that differ is written beside the text, and named as its value is.

// CHECK:      func.func @main(%x: tensor<128xi8>) -> tensor<128xi8> {
// CHECK-NEXT:   %table = arith.constant dense_resource<table> : tensor<128xi8>
// CHECK-NEXT:   %zeros = arith.constant dense<0> : tensor<128xi8>
// CHECK-NEXT:   %small = arith.constant dense<[1, 2]> : tensor<2xi8>
// SAME: result0: max absolute error 0
// NEEDED: weights.mlir.tmp.mlir:{{[0-9]+}}:{{[0-9]+}}: error: 'arith.constant' op
// NEEDED: hint: weights= (--weights) names the safetensors file that was written with the module
// ELSEWHERE: error: 'arith.constant' op refers to elements that are elsewhere, under the name 'table'
// ELSEWHERE: hint: weights= (--input-weights) of what reads the module names the file that holds them
func.func @main(%x: tensor<128xi8>) -> tensor<128xi8> {
  %table = arith.constant dense<"0x000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F202122232425262728292A2B2C2D2E2F303132333435363738393A3B3C3D3E3F404142434445464748494A4B4C4D4E4F505152535455565758595A5B5C5D5E5F606162636465666768696A6B6C6D6E6F707172737475767778797A7B7C7D7E7F"> : tensor<128xi8>
  %zeros = arith.constant dense<0> : tensor<128xi8>
  %small = arith.constant dense<[1, 2]> : tensor<2xi8>
  %a = fuse.add %x, %table : tensor<128xi8>
  %b = fuse.add %a, %zeros : tensor<128xi8>
  %c = fuse.tile %small, reps = [64] : (tensor<2xi8>) -> tensor<128xi8>
  %d = fuse.add %b, %c : tensor<128xi8>
  return %d : tensor<128xi8>
}
