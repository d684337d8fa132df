// A compiled program is a file, which runs as the module does; options of modules are refused.
// RUN: fuse-opt %s -o %t.fuse && fuse-run %t.fuse --random-inputs 0 | filecheck %s
// RUN: fuse-run %s --backend llvm --random-inputs 0 | filecheck %s
// RUN: fuse-opt %s -t 'fuse{strategy=cost threads=1}' > %t.cost.fuse && fuse-run %t.cost.fuse --random-inputs 0 | filecheck %s
// RUN: not fuse-run %t.fuse --random-inputs 0 --fuse-ops max-depth=2 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not fuse-run %t.fuse 2>&1 | filecheck %s --check-prefix=INPUTS
// RUN: not fuse-opt %s -t fuse -o %t.mlir 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not fuse-opt %s -t mlir -o %t.fuse 2>&1 | filecheck %s --check-prefix=TARGET
// RUN: not fuse-run %s.fuse --random-inputs 0 2>&1 | filecheck %s --check-prefix=MISSING

// CHECK: result0: tensor<2x3xf32> = {{\[\[}}6.115{{.*}}
// OPTION: saved-programs{{.*}}.fuse: error: --fuse-ops is for modules, and this is a saved program
// INPUTS: saved-programs{{.*}}.fuse: error: 'main' needs inputs: x
// NAME: error: argument -t/--target: 'fuse' writes a saved program, whose name ends in '.fuse'
// TARGET: error: argument -t/--target: 'mlir' writes no saved program, as
// MISSING: error: cannot read the saved program: no such file or directory
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %a = fuse.exp %x : tensor<2x3xf32>
  %b = fuse.add %a, %a : tensor<2x3xf32>
  return %b : tensor<2x3xf32>
}
