// RUN: fuse-opt %s --allow-unregistered-dialect --fuse-ops | filecheck %s
// RUN: fuse-opt %s --allow-unregistered-dialect --fuse-ops --fuse-ops | filecheck %s
// RUN: xdsl-opt %s --allow-unregistered-dialect -p fuse-ops | filecheck %s
// RUN: fuse-opt %s --allow-unregistered-dialect --fuse-ops --defuse-ops | filecheck %s --check-prefix BACK
// RUN: fuse-opt %s --allow-unregistered-dialect --fuse-ops --fusion-remarks -o /dev/null 2>&1 | filecheck %s --check-prefix REMARK

// Ops at the top level of a module fuse, and what is outlined of them stands at the module's end.
%x = "test.source"() : () -> tensor<4xf32>
%0 = fuse.relu %x : tensor<4xf32>
%1 = fuse.exp %0 : tensor<4xf32>
"test.sink"(%1) : (tensor<4xf32>) -> ()
// CHECK:       %x = "test.source"
// CHECK-NEXT:  %[[Y:.*]] = func.call @fused_relu_exp(%x)
// CHECK-NEXT:  "test.sink"(%[[Y]])

// A function that reads values of the top level passes them on: primitives capture nothing.
"test.func"() <{sym_name = "captures", function_type = () -> ()}> ({
  %2 = fuse.tanh %1 : tensor<4xf32>
  %3 = fuse.add %2, %x : tensor<4xf32>
  "test.return"(%3) : (tensor<4xf32>) -> ()
}) : () -> ()
// CHECK:       "test.func"
// CHECK-NEXT:    func.call @fused_tanh_add(%[[Y]], %x)
// CHECK:       func.func private @fused_tanh_add(%{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>) -> tensor<4xf32> attributes {primitive}

// At the top level nothing returns. So what nobody reads is a result, and nothing is erased.
%c = arith.constant dense<1.0> : tensor<4xf32>
%4 = fuse.abs %x : tensor<4xf32>
%5 = fuse.sqrt %4 : tensor<4xf32>
// CHECK:       %c = arith.constant
// CHECK-NEXT:  func.call @fused_abs_sqrt(%x) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:  func.func private @fused_relu_exp
// CHECK:       func.func private @fused_abs_sqrt

// BACK:        fuse.relu %x
// BACK:        fuse.exp
// BACK:        fuse.tanh
// BACK:        fuse.add
// BACK:        arith.constant
// BACK:        fuse.abs
// BACK:        fuse.sqrt
// BACK-NOT:    primitive

// REMARK:      'fuse.exp' op not fused
