// RUN: fuse-opt %s --defuse-ops --fusion-remarks --remarks-verbose 2>&1 >/dev/null | filecheck %s
// RUN: fuse-opt %s --defuse-ops | filecheck %s --check-prefix IR

func.func private @fused_relu(%x: tensor<4xf32>) -> tensor<4xf32> attributes {primitive} {
  %y = fuse.relu %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// A call with attributes of its own stays, and a remark says why; the other one goes without a word.
// IR-LABEL: func.func @main
// IR-NEXT:    %a = fuse.relu %x
// IR-NEXT:    %b = func.call @fused_relu(%a) {id = 7 : i64, mark}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = func.call @fused_relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK:      defuse-ops-remarks.mlir:{{[0-9]+}}:8: remark: 'func.call' op of '@fused_relu' stays: call-attributes
  // CHECK-NEXT: note: no op of the primitive could take over the attributes of the call: 'id', 'mark'
  %b = func.call @fused_relu(%a) {id = 7 : i64, mark} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %b : tensor<4xf32>
}
// CHECK-NOT: remark
