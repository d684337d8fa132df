// RUN: not fuse-opt %s '--refine-shapes=sizes="n=two"' 2>&1 | filecheck %s --check-prefix=FORM
// RUN: not fuse-opt %s '--refine-shapes=sizes="n=2","n=3"' 2>&1 | filecheck %s --check-prefix=TWICE
// RUN: not fuse-opt %s '--refine-shapes=sizes="batch=2"' 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not fuse-opt %s '--refine-shapes=sizes="n=2"' 2>&1 | filecheck %s --check-prefix=STATIC
// RUN: not fuse-opt %s '--refine-shapes=sizes="m=2"' 2>&1 | filecheck %s --check-prefix=OP

// FORM: error: option 'sizes' expects each name once as "name=number", got "n=two"
// TWICE: error: option 'sizes' expects each name once as "name=number", got "n=3"
// UNKNOWN: error: option 'sizes': no argument has a size 'batch'

// STATIC: {{[0-9]+}}:1: error: '@fixed': size 'n' is both 2 and 7
func.func @fixed(%x: tensor<7xf32> {fuse.sizes = ["n"]}) {
  return
}

func.func @op(%x: tensor<?xf32> {fuse.sizes = ["m"]}, %y: tensor<3xf32>) {
  // OP: {{[0-9]+}}:8: error: 'fuse.add' op expects broadcast-compatible shapes, got 2 and 3
  %z = fuse.add %x, %y : (tensor<?xf32>, tensor<3xf32>)
  return
}
