// RUN: FUSE_ROUNDTRIP

// Arithmetic keeps the type of its operand, dynamic dimensions and all.
// CHECK-LABEL: func.func @arithmetic
func.func @arithmetic(%x: tensor<4x?xf32>, %n: tensor<3xi8>, %u: tensor<3xui8>) {
  // CHECK-NEXT: %abs = fuse.abs %x : tensor<4x?xf32>
  %abs = fuse.abs %x : tensor<4x?xf32>
  // CHECK-NEXT: %negative = fuse.negative %x : tensor<4x?xf32>
  %negative = fuse.negative %x : tensor<4x?xf32>
  // CHECK-NEXT: %sign = fuse.sign %x : tensor<4x?xf32>
  %sign = fuse.sign %x : tensor<4x?xf32>
  // CHECK-NEXT: %sqrt = fuse.sqrt %x : tensor<4x?xf32>
  %sqrt = fuse.sqrt %x : tensor<4x?xf32>
  // CHECK-NEXT: %rsqrt = fuse.rsqrt %x : tensor<4x?xf32>
  %rsqrt = fuse.rsqrt %x : tensor<4x?xf32>
  // CHECK-NEXT: %reciprocal = fuse.reciprocal %x : tensor<4x?xf32>
  %reciprocal = fuse.reciprocal %x : tensor<4x?xf32>
  // CHECK-NEXT: %abs_n = fuse.abs %n : tensor<3xi8>
  %abs_n = fuse.abs %n : tensor<3xi8>
  // CHECK-NEXT: %sign_u = fuse.sign %u : tensor<3xui8>
  %sign_u = fuse.sign %u : tensor<3xui8>
  // CHECK-NEXT: %negative_u = fuse.negative %u : tensor<3xui8>
  %negative_u = fuse.negative %u : tensor<3xui8>
  return
}

// Rounding keeps floats floats.
// CHECK-LABEL: func.func @rounding
func.func @rounding(%x: tensor<4x?xf16>) {
  // CHECK-NEXT: %ceil = fuse.ceil %x : tensor<4x?xf16>
  %ceil = fuse.ceil %x : tensor<4x?xf16>
  // CHECK-NEXT: %floor = fuse.floor %x : tensor<4x?xf16>
  %floor = fuse.floor %x : tensor<4x?xf16>
  // CHECK-NEXT: %round = fuse.round %x : tensor<4x?xf16>
  %round = fuse.round %x : tensor<4x?xf16>
  return
}

// Exponentials, logarithms and the error function.
// CHECK-LABEL: func.func @exponentials
func.func @exponentials(%x: tensor<bf16>) {
  // CHECK-NEXT: %exp = fuse.exp %x : tensor<bf16>
  %exp = fuse.exp %x : tensor<bf16>
  // CHECK-NEXT: %log = fuse.log %x : tensor<bf16>
  %log = fuse.log %x : tensor<bf16>
  // CHECK-NEXT: %log2 = fuse.log2 %x : tensor<bf16>
  %log2 = fuse.log2 %x : tensor<bf16>
  // CHECK-NEXT: %erf = fuse.erf %x : tensor<bf16>
  %erf = fuse.erf %x : tensor<bf16>
  return
}

// Circular functions and their inverses.
// CHECK-LABEL: func.func @circular
func.func @circular(%x: tensor<2xf64>) {
  // CHECK-NEXT: %sin = fuse.sin %x : tensor<2xf64>
  %sin = fuse.sin %x : tensor<2xf64>
  // CHECK-NEXT: %cos = fuse.cos %x : tensor<2xf64>
  %cos = fuse.cos %x : tensor<2xf64>
  // CHECK-NEXT: %tan = fuse.tan %x : tensor<2xf64>
  %tan = fuse.tan %x : tensor<2xf64>
  // CHECK-NEXT: %asin = fuse.asin %x : tensor<2xf64>
  %asin = fuse.asin %x : tensor<2xf64>
  // CHECK-NEXT: %acos = fuse.acos %x : tensor<2xf64>
  %acos = fuse.acos %x : tensor<2xf64>
  // CHECK-NEXT: %atan = fuse.atan %x : tensor<2xf64>
  %atan = fuse.atan %x : tensor<2xf64>
  return
}

// Hyperbolic functions and their inverses.
// CHECK-LABEL: func.func @hyperbolic
func.func @hyperbolic(%x: tensor<0x3xf32>) {
  // CHECK-NEXT: %sinh = fuse.sinh %x : tensor<0x3xf32>
  %sinh = fuse.sinh %x : tensor<0x3xf32>
  // CHECK-NEXT: %cosh = fuse.cosh %x : tensor<0x3xf32>
  %cosh = fuse.cosh %x : tensor<0x3xf32>
  // CHECK-NEXT: %tanh = fuse.tanh %x : tensor<0x3xf32>
  %tanh = fuse.tanh %x : tensor<0x3xf32>
  // CHECK-NEXT: %asinh = fuse.asinh %x : tensor<0x3xf32>
  %asinh = fuse.asinh %x : tensor<0x3xf32>
  // CHECK-NEXT: %acosh = fuse.acosh %x : tensor<0x3xf32>
  %acosh = fuse.acosh %x : tensor<0x3xf32>
  // CHECK-NEXT: %atanh = fuse.atanh %x : tensor<0x3xf32>
  %atanh = fuse.atanh %x : tensor<0x3xf32>
  return
}

// Predicates give i1; the result type may be left out.
// CHECK-LABEL: func.func @predicates
func.func @predicates(%x: tensor<?x2xf32>, %b: tensor<5xi1>) {
  // CHECK-NEXT: %isnan = fuse.isnan %x : (tensor<?x2xf32>) -> tensor<?x2xi1>
  %isnan = fuse.isnan %x : (tensor<?x2xf32>)
  // CHECK-NEXT: %isinf = fuse.isinf %x : (tensor<?x2xf32>) -> tensor<?x2xi1>
  %isinf = fuse.isinf %x : (tensor<?x2xf32>) -> tensor<?x2xi1>
  // CHECK-NEXT: %positive = fuse.isinf %x, detect_negative = false : (tensor<?x2xf32>) -> tensor<?x2xi1>
  %positive = fuse.isinf %x, detect_negative = false : (tensor<?x2xf32>)
  // CHECK-NEXT: %negative = fuse.isinf %x, detect_positive = false : (tensor<?x2xf32>) -> tensor<?x2xi1>
  %negative = fuse.isinf %x, detect_positive = false : (tensor<?x2xf32>)
  // CHECK-NEXT: %logical_not = fuse.logical_not %b : tensor<5xi1>
  %logical_not = fuse.logical_not %b : tensor<5xi1>
  return
}

// A result type that knows more than the operand is kept.
// CHECK-LABEL: func.func @refined_result
func.func @refined_result(%x: tensor<?x?xf32>) {
  // CHECK-NEXT: %y = fuse.exp %x : (tensor<?x?xf32>) -> tensor<2x?xf32>
  %y = fuse.exp %x : (tensor<?x?xf32>) -> tensor<2x?xf32>
  return
}

// Attributes that the op does not know are kept.
// CHECK-LABEL: func.func @attributes
func.func @attributes(%x: tensor<2xf32>) {
  // CHECK-NEXT: %y = fuse.exp %x {tag = "here"} : tensor<2xf32>
  %y = fuse.exp %x {tag = "here"} : tensor<2xf32>
  return
}
