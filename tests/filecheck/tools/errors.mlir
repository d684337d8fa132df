// RUN: not fuse-opt %s 2>&1 | filecheck %s
// RUN: not fuse-opt %s -p canonicalise 2>&1 | filecheck %s --check-prefix=PASS
// RUN: not fuse-opt %s --fuse-ops="max-dept=8" 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not fuse-opt %s --fuse-ops="max-depth=deep" 2>&1 | filecheck %s --check-prefix=TYPE
// RUN: not fuse-opt %s --fuse-op 2>&1 | filecheck %s --check-prefix=FLAG
// RUN: not fuse-opt %s.missing 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: not fuse-opt %s --pass-pipeline='builtin.module(func.func(cse))' 2>&1 | filecheck %s --check-prefix=NESTED

// CHECK: errors.mlir:26:10: error: 'arith.addf' op expected 2 operands, but got 1

// PASS: error: unknown pass 'canonicalise'
// PASS-NEXT: hint: did you mean 'canonicalize'?

// OPTION: error: pass 'fuse-ops' has no option 'max-dept'
// OPTION-NEXT: hint: did you mean 'max-depth'?

// TYPE: error: option 'max-depth' of pass 'fuse-ops' expects integer, got 'deep'

// FLAG: error: unrecognized arguments: --fuse-op
// FLAG-NEXT: hint: did you mean --fuse-ops?

// MISSING: errors.mlir.missing: error: cannot read the input: no such file or directory

// NESTED: error: pass pipeline is nested: 'func.func(...)'
func.func @one_operand_is_missing(%x: tensor<4xf32>) {
  %sum = "arith.addf"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}
