// RUN: rm -rf %t && mkdir %t && printf 'name = "toy"\ncall_us = 0\n' > %t/toy.toml
// RUN: not fuse-opt --fuse-ops="strategy=cost machine=%t/toy.toml" %s 2>&1 | filecheck %s --check-prefix=ZERO
// RUN: not fuse-opt --fuse-ops="strategy=cost machine=cpu-avx51" %s 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not fuse-opt --fuse-ops="strategy=cost machine=cpu-avx512 open-size=0" %s 2>&1 | filecheck %s --check-prefix=SIZE

// ZERO: toy.toml{{.*}}: error: expected
// NAME: error: unknown machine 'cpu-avx51'
// NAME: hint: did you mean 'cpu-avx512'?
// SIZE: option 'open-size' expects 1 or more, got 0
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = fuse.exp %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
