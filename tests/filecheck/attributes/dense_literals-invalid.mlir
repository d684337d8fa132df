// RUN: fuse-opt %s --split-input-file --parsing-diagnostics | filecheck %s

// CHECK: hexadecimal literal is out of range for f32
%0 = arith.constant dense<0x1FF800000> : tensor<f32>

// -----

// CHECK: dense literal has shape [2], but its type has shape [3]
%0 = arith.constant dense<[1.0, 2.0]> : tensor<3xf32>

// -----

// CHECK: hex string in the dense literal holds 5 bytes, but its type needs 16
%0 = arith.constant dense<"0x0000803F00"> : tensor<4xf32>

// -----

// CHECK: expected '0x' and an even number of hexadecimal digits in the dense literal
%0 = arith.constant dense<"zz"> : tensor<4xf32>

// -----

// CHECK: expected at least one element in the dense literal
%0 = arith.constant dense<> : tensor<2xf32>

// -----

// CHECK: integer bitwidth is limited to 16777215 bits
"test.op"() : () -> i99999999999

// -----

// CHECK: End of file reached before closing string literal
"test.op"() {a = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa} : () -> ()
