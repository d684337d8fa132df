// RUN: not fuse-run %s --entry contradicting --random-inputs 0 2>&1 | filecheck %s --check-prefix=CONTRADICTING
// RUN: not fuse-run %s --entry malformed --random-inputs 0 2>&1 | filecheck %s --check-prefix=MALFORMED

// CONTRADICTING: fuse-run-sizes-invalid.mlir{{.*}}: error: size 'n' is 3 on axis 0 of input 'x', and 4 on axis 1 of input 'y'
func.func @contradicting(%x: tensor<3xf32> {fuse.sizes = ["n"]}, %y: tensor<2x4xf32> {fuse.sizes = ["", "n"]}) {
  return
}

// MALFORMED: fuse-run-sizes-invalid.mlir:{{[0-9]+}}:1: error: 'func.func' op argument 0 of '@malformed': 'fuse.sizes' expects a list of strings, one for each axis of tensor<3xf32>
func.func @malformed(%x: tensor<3xf32> {fuse.sizes = ["n", "m"]}) {
  return
}
