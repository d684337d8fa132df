// RUN: fuse-opt %s --allow-unregistered-dialect --fuse-ops | filecheck %s
// RUN: fuse-opt %s --allow-unregistered-dialect --fuse-ops --fuse-ops | filecheck %s
// RUN: xdsl-opt %s --allow-unregistered-dialect -p fuse-ops | filecheck %s
// RUN: fuse-opt %s --allow-unregistered-dialect --fuse-ops --defuse-ops | filecheck %s --check-prefix BACK

// A function is what has a name, a type of functions and one region, whatever its dialect is. All share primitives.
"util.func"() <{sym_name = "util", function_type = (tensor<4xf32>) -> tensor<4xf32>}> ({
^bb0(%x: tensor<4xf32>):
  %0 = fuse.relu %x : tensor<4xf32>
  %1 = fuse.exp %0 : tensor<4xf32>
  "util.return"(%1) : (tensor<4xf32>) -> ()
}) : () -> ()
// CHECK-LABEL: sym_name = "util"
// CHECK:         %[[Y:.*]] = func.call @fused_relu_exp(%x)
// CHECK-NEXT:    "util.return"(%[[Y]])
// CHECK:       func.func private @fused_relu_exp
// CHECK-NEXT:    fuse.relu
// CHECK-NEXT:    fuse.exp

// BACK-LABEL: sym_name = "util"
// BACK:         fuse.relu %x
// BACK-NEXT:    %[[Y:.*]] = fuse.exp
// BACK-NEXT:    "util.return"(%[[Y]])
// BACK-NOT:   primitive

// Attributes of the function may be discardable, as older printers write them.
"ml_program.func"() ({
^bb0(%x: tensor<4xf32>):
  %0 = fuse.relu %x : tensor<4xf32>
  %1 = fuse.exp %0 : tensor<4xf32>
  "ml_program.return"(%1) : (tensor<4xf32>) -> ()
}) {sym_name = "ml_program", function_type = (tensor<4xf32>) -> tensor<4xf32>} : () -> ()
// CHECK-LABEL: "ml_program.func"
// CHECK:         func.call @fused_relu_exp

// A function that another compiler owns, or that is primitive, is left alone.
"util.func"() <{sym_name = "owned", function_type = (tensor<4xf32>) -> tensor<4xf32>}> ({
^bb0(%x: tensor<4xf32>):
  %0 = fuse.relu %x : tensor<4xf32>
  %1 = fuse.exp %0 : tensor<4xf32>
  "util.return"(%1) : (tensor<4xf32>) -> ()
}) {fuse.compiler = "other"} : () -> ()
// CHECK-LABEL: sym_name = "owned"
// CHECK:         fuse.relu
// CHECK-NEXT:    fuse.exp

// A function inside a function could name nothing that is outlined.
"util.func"() <{sym_name = "outer", function_type = () -> ()}> ({
  "util.func"() <{sym_name = "inner", function_type = (tensor<4xf32>) -> tensor<4xf32>}> ({
  ^bb0(%x: tensor<4xf32>):
    %0 = fuse.relu %x : tensor<4xf32>
    %1 = fuse.exp %0 : tensor<4xf32>
    "util.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "util.return"() : () -> ()
}) : () -> ()
// CHECK-LABEL: sym_name = "inner"
// CHECK:         fuse.relu
// CHECK-NEXT:    fuse.exp
