// RUN: fuse-opt %s --convert-fuse-to-linalg --split-input-file --verify-diagnostics | filecheck %s

// CHECK: 'fuse.sort' op has no loop form
func.func @sort(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = fuse.sort %x : tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// -----

// CHECK: 'fuse.relu' op stands in a function of several blocks, which do not become linalg
func.func @blocks(%x: tensor<8xf32>) -> tensor<8xf32> {
  cf.br ^next
^next:
  %y = fuse.relu %x : tensor<8xf32>
  func.return %y : tensor<8xf32>
}
