// RUN: fuse-opt %s --fuse-ops --allow-unregistered-dialect | filecheck %s
// RUN: fuse-opt %s --fuse-ops --fusion-remarks --allow-unregistered-dialect -o /dev/null 2>&1 | filecheck %s --check-prefix REMARK

// In a graph region an op may read what is defined below it. Nothing is fused there, and around it all is as ever.
func.func @graph_region(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = fuse.exp %x : tensor<4xf32>
  %1 = fuse.relu %0 : tensor<4xf32>
  "nobody.graph"() ({
    %a = "fuse.exp"(%b) : (tensor<4xf32>) -> tensor<4xf32>
    %b = "fuse.tanh"(%a) : (tensor<4xf32>) -> tensor<4xf32>
    "nobody.output"(%b) : (tensor<4xf32>) -> ()
  }) : () -> ()
  func.return %1 : tensor<4xf32>
}
// CHECK-LABEL: func.func @graph_region
// CHECK-NEXT:    %[[Y:.*]] = func.call @fused_exp_relu(%x)
// CHECK-NEXT:    "nobody.graph"() ({
// CHECK-NEXT:      fuse.exp
// CHECK-NEXT:      fuse.tanh
// CHECK:         func.return %[[Y]]

// REMARK: 'fuse.exp' op not fused: not-in-order
// REMARK: 'fuse.tanh' op not fused: not-in-order
