// RUN: FUSE_ROUNDTRIP

// A hexadecimal literal is the bit pattern of a float, in constants of every shape and float type.

// CHECK-LABEL: func.func @infinities_and_nan
func.func @infinities_and_nan() {
  // CHECK: arith.constant dense<0xFF800000> : tensor<f32>
  %0 = arith.constant dense<0xFF800000> : tensor<f32>
  // CHECK: arith.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 1.000000e+00]> : tensor<4xf32>
  %1 = arith.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 1.0]> : tensor<4xf32>
  // CHECK: arith.constant dense<0xFC00> : tensor<2x2xf16>
  %2 = arith.constant dense<0xFC00> : tensor<2x2xf16>
  // CHECK: arith.constant dense<{{\[}}[0x7F80, 0xFF80]]> : tensor<1x2xbf16>
  %3 = arith.constant dense<[[0x7F80, 0xFF80]]> : tensor<1x2xbf16>
  // CHECK: arith.constant dense<0x7FF8000000000000> : tensor<3xf64>
  %4 = arith.constant dense<0x7FF8000000000000> : tensor<3xf64>
  // CHECK: arith.constant 0xFF800000 : f32
  %5 = arith.constant 0xFF800000 : f32
  return
}

// CHECK-LABEL: func.func @finite_values_in_hexadecimal
func.func @finite_values_in_hexadecimal() {
  // CHECK: arith.constant dense<[1.000000e+00, -2.000000e+00]> : tensor<2xf32>
  %0 = arith.constant dense<[0x3F800000, 0xC0000000]> : tensor<2xf32>
  // CHECK: arith.constant dense<16> : tensor<2xi32>
  %1 = arith.constant dense<0x10> : tensor<2xi32>
  // CHECK: arith.constant dense<1.500000e+00> : tensor<2xf64>
  %2 = arith.constant dense<0x3FF8000000000000> : tensor<2xf64>
  return
}

// CHECK-LABEL: func.func @signed_zeros_are_no_splat
func.func @signed_zeros_are_no_splat() {
  // CHECK: arith.constant dense<[0.000000e+00, -0.000000e+00]> : tensor<2xf32>
  %0 = arith.constant dense<[0.0, -0.0]> : tensor<2xf32>
  return
}

// CHECK-LABEL: func.func @complex_and_array
func.func @complex_and_array() {
  // CHECK: arith.constant dense<(0x7FC00000,1.000000e+00)> : tensor<2xcomplex<f32>>
  %0 = arith.constant dense<(0x7FC00000, 1.0)> : tensor<2xcomplex<f32>>
  // CHECK: array<f32: 1.000000e+00, 0x7F800000, 0xFF800000>
  "test.op"() {a = array<f32: 1.0, 0x7F800000, 0xFF800000>} : () -> ()
  return
}

// CHECK-LABEL: func.func @splat_of_a_claimed_size
func.func @splat_of_a_claimed_size() {
  // CHECK: arith.constant dense<1.000000e+00> : tensor<1000000000xf32>
  %0 = arith.constant dense<1.0> : tensor<1000000000xf32>
  // CHECK: arith.constant dense<1.000000e+00> : tensor<1000000000xf32>
  %1 = arith.constant dense<"0x0000803F"> : tensor<1000000000xf32>
  return
}

// CHECK-LABEL: func.func @packed_booleans
func.func @packed_booleans() {
  // CHECK: arith.constant dense<[true, false, true, false, false, false, false, false, true]> : tensor<9xi1>
  %0 = arith.constant dense<"0x0501"> : tensor<9xi1>
  return
}
