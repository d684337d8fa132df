// RUN: fuse-opt %s --insert-hardware="template=opu" > %t.opu.mlir
// RUN: fuse-opt %t.opu.mlir | diff %t.opu.mlir -
// RUN: filecheck %s < %t.opu.mlir
// RUN: fuse-opt %s --fuse-ops-hw='template="%t.opu.mlir"'
// RUN: fuse-opt %s --fuse-ops-hw=template=%t.opu.mlir
// RUN: fuse-opt %s -p 'fuse-ops-hw{template=%t.opu.mlir dedup=false},fuse-ops{max-depth=8}'
// RUN: sed 's/@ipa kind "ipa"/@ipa kind "ipa" capacity 0/' %t.opu.mlir > %t.wrong.mlir
// RUN: not fuse-opt %s --fuse-ops-hw='template="%t.wrong.mlir"' 2>&1 | filecheck %s --check-prefix=CAPACITY
// RUN: sed 's/"fuse.relu"/"fuse.rellu"/' %t.opu.mlir > %t.wrong.mlir
// RUN: not fuse-opt %s --fuse-ops-hw='template="%t.wrong.mlir"' 2>&1 | filecheck %s --check-prefix=OPERATOR
// RUN: sed 's/"fuse.relu" to/"fuse.relu" two/' %t.opu.mlir > %t.wrong.mlir
// RUN: not fuse-opt %s --fuse-ops-hw='template="%t.wrong.mlir"' 2>&1 | filecheck %s --check-prefix=SYNTAX
// RUN: not fuse-opt %s --fuse-ops-hw='template="%s"' 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not fuse-opt %s --fuse-ops-hw='template="missing.mlir"' 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: echo '"fuse.hardware"() : () -> ()' > %t.wrong.mlir
// RUN: not fuse-opt %s --fuse-ops-hw='template="%t.wrong.mlir"' 2>&1 | filecheck %s --check-prefix=REGION
// RUN: echo 'fuse.hardware @b source @a attributes {x = 300 : i8} {}' > %t.wrong.mlir
// RUN: not fuse-opt %s --fuse-ops-hw='template="%t.wrong.mlir"' 2>&1 | filecheck %s --check-prefix=ATTRIBUTE
// RUN: echo 'fuse.hardware @"\FF" source @a {}' > %t.wrong.mlir
// RUN: not fuse-opt %s --fuse-ops-hw='template="%t.wrong.mlir"' 2>&1 | filecheck %s --check-prefix=SYMBOL
// RUN: sed 's/kind "ipa"/kind "ipa" capacity 2/' %t.opu.mlir > %t.other.mlir
// RUN: not fuse-opt %t.opu.mlir --insert-hardware='template="%t.other.mlir"' 2>&1 | filecheck %s --check-prefix=ANOTHER
// RUN: not fuse-opt %s --fuse-ops-hw='template=npu' 2>&1 | filecheck %s --check-prefix=UNKNOWN

// Templates as files: printed, read back, and diagnosed with their place.
func.func @nothing() {
  func.return
}
// CHECK:      fuse.hardware @opu source @concat {
// CHECK-NEXT:   fuse.hardware_unit @concat kind "mem_rd"
// CHECK:        fuse.hardware_link @concat -> @add_pre
// CHECK-NEXT:   fuse.hardware_link @add_pre -> @mul_pre
// CHECK-NEXT:   fuse.hardware_link @mul_pre -> @pad
// CHECK-NEXT:   fuse.hardware_link @pad -> @ipa
// CHECK-NEXT:   fuse.hardware_link @ipa -> @mul
// CHECK-NEXT:   fuse.hardware_link @mul -> @add
// CHECK-NEXT:   fuse.hardware_link @add -> @compare
// CHECK-NEXT:   fuse.hardware_link @add -> @pool_pad
// CHECK-NEXT:   fuse.hardware_link @add -> @res_add
// CHECK-NEXT:   fuse.hardware_link @pool_pad -> @pool
// CHECK-NEXT:   fuse.hardware_link @compare -> @pool
// CHECK-NEXT:   fuse.hardware_link @compare -> @res_add
// CHECK-NEXT:   fuse.hardware_link @pool -> @compare
// CHECK-NEXT:   fuse.hardware_link @pool -> @res_add
// CHECK-NEXT:   fuse.hardware_link @res_add -> @compare
// CHECK-NEXT:   fuse.hardware_link @res_add -> @pool
// CHECK-NEXT:   fuse.hardware_link @compare -> @upsample
// CHECK-NEXT:   fuse.hardware_link @pool -> @upsample
// CHECK-NEXT:   fuse.hardware_link @res_add -> @upsample
// CHECK-NEXT:   fuse.hardware_map "fuse.concatenate" to ["mem_rd"]
// CHECK-NEXT:   fuse.hardware_map "fuse.add" to ["adder"] if "bias"
// CHECK-NEXT:   fuse.hardware_map "fuse.add" to ["res_adder"] if "residual"
// CAPACITY: wrong.mlir:4:5: error: 'fuse.hardware_unit' op expects unit 'ipa' of capacity 1 or more, got 0
// OPERATOR: wrong.mlir:{{[0-9]+}}:5: error: 'fuse.hardware_map' op expects the name of an op, got 'fuse.rellu'
// OPERATOR: hint: did you mean 'fuse.relu'?
// SYNTAX: wrong.mlir:{{[0-9]+}}:{{[0-9]+}}: error: expected 'to'
// NONE: files.mlir: error: expects one fuse.hardware op, got 0
// MISSING: missing.mlir: error: cannot read the hardware template: no such file or directory
// UNKNOWN: error: no hardware template 'npu'
// UNKNOWN: hint: did you mean 'opu'?
// REGION: wrong.mlir:1:1: error: 'fuse.hardware' op expected 1 region, but got 0
// ATTRIBUTE: wrong.mlir:1:{{[0-9]+}}: error: integer value 300 is out of range
// SYMBOL: wrong.mlir:1:{{[0-9]+}}: error: byte 0xFF of a string is not UTF-8 text
// ANOTHER: opu.mlir:{{[0-9]+}}:3: error: 'fuse.hardware' op is another template than the 'opu' to insert
