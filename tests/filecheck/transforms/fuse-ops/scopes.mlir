// RUN: fuse-opt %s --allow-unregistered-dialect --fuse-ops | filecheck %s
// RUN: fuse-opt %s --allow-unregistered-dialect --fuse-ops --defuse-ops | filecheck %s --check-prefix=BACK
// RUN: fuse-opt %s --allow-unregistered-dialect --fuse-ops --extract-primitives | filecheck %s --check-prefix=EXTRACT

// Blocks need not stand in the order in which they run: a barrier may stand above what gives its operand.
func.func @block_order(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^bb1
^bb2:
  %b = fuse.stop_fusion %a : tensor<4xf32>
  %t = fuse.tanh %b : tensor<4xf32>
  func.return %t : tensor<4xf32>
^bb1:
  %y = fuse.relu %x : tensor<4xf32>
  %a = fuse.stop_fusion %y : tensor<4xf32>
  cf.br ^bb2
}
// CHECK-LABEL: func.func @block_order
// CHECK:         %t = func.call @fused_tanh(%y)
// CHECK:         %y = func.call @fused_relu(%x)
// BACK-LABEL:  func.func @block_order
// BACK:          %t = fuse.tanh %y
// BACK:          %y = fuse.relu %x

// A function inside a function belongs to no symbol table, and to another compiler at that.
func.func @outer(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.func @inner(%u: tensor<4xf32>) -> tensor<4xf32> attributes {fuse.compiler = "x"} {
    %v = fuse.relu %u : tensor<4xf32>
    func.return %v : tensor<4xf32>
  }
  func.return %x : tensor<4xf32>
}
// CHECK-LABEL: func.func @outer
// CHECK-NEXT:    func.func @inner
// CHECK-NEXT:      fuse.relu %u

// What only dead ops read is no result.
func.func @dead_reader(%x: tensor<4x6xf32>) -> tensor<4x3xf32> {
  %a, %b = fuse.split %x, axis = 1, sizes = [3, 3] : (tensor<4x6xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
  %dead = fuse.relu %b : tensor<4x3xf32>
  func.return %a : tensor<4x3xf32>
}
// CHECK-LABEL: func.func @dead_reader
// CHECK-NEXT:    %a = func.call @fused_split(%x) : (tensor<4x6xf32>) -> tensor<4x3xf32>

// Each symbol table has primitives of its own, also one of a dialect that nobody knows.
func.func @clip(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = fuse.clip %x, min = 0.0, max = 6.0 : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"gpu.module"() <{sym_name = "g"}> ({
  func.func @clip(%x: tensor<4xf32>) -> tensor<4xf32> {
    %y = fuse.clip %x, min = -1.0, max = 1.0 : tensor<4xf32>
    func.return %y : tensor<4xf32>
  }
}) : () -> ()
"unknown.module"() ({
  func.func @clip(%x: tensor<8xf32>) -> tensor<8xf32> {
    %y = fuse.clip %x, min = -2.0, max = 2.0 : tensor<8xf32>
    func.return %y : tensor<8xf32>
  }
}) : () -> ()
// CHECK-LABEL: func.func @clip
// CHECK-NEXT:    func.call @fused_clip(%x)
// CHECK:       "gpu.module"
// CHECK-NEXT:    func.func @clip
// CHECK-NEXT:      func.call @fused_clip(%x)
// CHECK:       "unknown.module"
// CHECK-NEXT:    func.func @clip
// CHECK-NEXT:      func.call @fused_clip(%x)
// BACK-LABEL:  func.func @clip
// BACK-NEXT:     fuse.clip %x, min = 0.0, max = 6.0
// BACK:          fuse.clip %x, min = -1.0, max = 1.0
// BACK:          fuse.clip %x, min = -2.0, max = 2.0
// BACK-NOT:      primitive
// EXTRACT:     fuse.clip %x, min = 0.0
// EXTRACT:     fuse.clip %x, min = -1.0
// EXTRACT:     fuse.clip %x, min = -2.0
