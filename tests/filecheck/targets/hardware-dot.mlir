// RUN: fuse-opt %s --fuse-ops-hw="template=tiny" -t hardware-dot | filecheck %s
// RUN: fuse-opt %s -t hardware-dot | filecheck %s --check-prefix=BARE
// RUN: fuse-opt %s --fuse-ops-hw="template=tiny" -t "hardware-dot{function=fused_relu}" | filecheck %s --check-prefix=ONE
// RUN: not fuse-opt %s -t "hardware-dot{function=main}" 2>&1 | filecheck %s --check-prefix=NONE
// RUN: fuse-opt %s --fuse-ops-hw="template=tiny" | sed 's/fuse.unit = "act"/fuse.unit = "none"/' > %t.mlir
// RUN: not fuse-opt %t.mlir -t hardware-dot 2>&1 | filecheck %s --check-prefix=UNIT
// RUN: fuse-opt %s --fuse-ops-hw="template=tiny" | sed 's/@tiny source/@other source/' > %t.mlir
// RUN: not fuse-opt %t.mlir -t hardware-dot 2>&1 | filecheck %s --check-prefix=UNKNOWN

// Units that run something are filled and numbered, and the way of the data is thick, also past units that it skips.
fuse.hardware @tiny source @mac bandwidth 4 {
  fuse.hardware_unit @mac kind "mac" operations 2
  fuse.hardware_unit @bias kind "bias"
  fuse.hardware_unit @act kind "activation" capacity 2 bytes 8
  fuse.hardware_link @mac -> @bias
  fuse.hardware_link @bias -> @act
  fuse.hardware_link @act -> @bias
  fuse.hardware_map "fuse.dense" to ["mac"]
  fuse.hardware_map "fuse.relu" to ["activation"]
}
func.func @main(%x: tensor<2x8xf32>, %w: tensor<4x8xf32>) -> tensor<2x4xf32> {
  %a = fuse.dense %x, %w : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<2x4xf32>
  %b = fuse.relu %a : tensor<2x4xf32>
  %c = fuse.relu %b : tensor<2x4xf32>
  %d = fuse.relu %c : tensor<2x4xf32>
  func.return %d : tensor<2x4xf32>
}
// CHECK:      digraph hardware {
// 64 + 128 bytes come in and 32 go out; the product takes 128 operations, 2 a cycle, and 4 bytes move in one.
// CHECK:        label="@fused_dense_relu_relu on tiny\n224 bytes, 64 cycles";
// CHECK-NEXT:   "0.mac" [label="mac [mac]\n1. fuse.dense", fillcolor=lightblue];
// CHECK-NEXT:   "0.bias" [label="bias [bias]", fontcolor=gray40];
// CHECK-NEXT:   "0.act" [label="act [activation x2]\n2. fuse.relu\n3. fuse.relu", fillcolor=lightblue];
// CHECK-NEXT:   "0.mac" -> "0.bias" [penwidth=3];
// CHECK-NEXT:   "0.bias" -> "0.act" [penwidth=3];
// CHECK-NEXT:   "0.act" -> "0.bias" [color=gray60];
// CHECK:        label="@fused_relu on tiny\n64 bytes, 16 cycles";
// BARE:        label="tiny";
// BARE-NEXT:   "0.mac" [label="mac [mac]"];
// BARE:        "0.mac" -> "0.bias";
// ONE-NOT:     fused_dense
// ONE:         label="@fused_relu on tiny\n64 bytes, 16 cycles";
// NONE:        error: the module has no function '@main' for hardware
// UNKNOWN:      mlir:17:3: error: 'func.func' op @fused_dense_relu_relu is for hardware 'tiny', which no fuse.hardware op describes
// UNKNOWN:      hint: put the template of a file into the module first: --insert-hardware=
// UNIT: error: 'fuse.relu' op runs on unit 'none', which template 'tiny' does not have
