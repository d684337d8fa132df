// RUN: xdsl-opt %s -p fuse-ops --split-input-file --verify-diagnostics --allow-unregistered-dialect | filecheck %s

// CHECK: 'builtin.module' op attribute 'fuse.kinds' is no list: "npu.*"
builtin.module attributes {fuse.kinds = "npu.*"} {}

// -----

// CHECK: 'builtin.module' op row 0 of fuse.kinds is no dictionary: "npu.*"
builtin.module attributes {fuse.kinds = ["npu.*"]} {}

// -----

// CHECK: 'builtin.module' op row 0 of fuse.kinds has an unknown key 'edge'
builtin.module attributes {fuse.kinds = [{name = "npu.*", kind = #fuse.pattern_kind<opaque>, edge = 1}]} {}

// -----

// CHECK: 'builtin.module' op row 1 of fuse.kinds expects 'name' to name ops of a dialect, got "gelu"
builtin.module attributes {fuse.kinds = [{name = "npu.*", kind = #fuse.pattern_kind<opaque>}, {name = "gelu"}]} {}

// -----

// CHECK: 'builtin.module' op row 0 of fuse.kinds expects 'kind' to be a pattern kind, got nothing
builtin.module attributes {fuse.kinds = [{name = "npu.*"}]} {}

// -----

// CHECK: 'builtin.module' op row 0 of fuse.kinds expects 'edges' to be a list of pattern kinds, got ["opaque"]
builtin.module attributes {fuse.kinds = [{name = "npu.*", kind = #fuse.pattern_kind<opaque>, edges = ["opaque"]}]} {}

// -----

// CHECK: 'builtin.module' op row 0 of fuse.kinds expects 'reshape_only' to be true or false, got 1 : i32
builtin.module attributes {fuse.kinds = [{name = "npu.*", kind = #fuse.pattern_kind<opaque>, reshape_only = 1 : i32}]} {}

// -----

// CHECK: 'builtin.module' op attribute 'fuse.kinds' has two rows for 'npu.*'
builtin.module attributes {fuse.kinds = [{name = "npu.*", kind = #fuse.pattern_kind<opaque>},
                                         {name = "npu.*", kind = #fuse.pattern_kind<opaque>}]} {}

// -----

// CHECK: 'npu.gelu' op has 1 operand, and row 0 of fuse.kinds gives 2 edges
builtin.module attributes {fuse.kinds = [{name = "npu.*", kind = #fuse.pattern_kind<elemwise>,
                           edges = [#fuse.pattern_kind<elemwise>, #fuse.pattern_kind<elemwise>]}]} {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "npu.gelu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    func.return %0 : tensor<4xf32>
  }
}

// -----

// CHECK: 'npu.gelu' op attribute 'fuse.edge_kinds' is no list of kinds: ["opaque"]
func.func @words(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "npu.gelu"(%x) {fuse.pattern_kind = #fuse.pattern_kind<elemwise>, fuse.edge_kinds = ["opaque"]} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK: 'npu.gelu' op has 1 operand, and fuse.edge_kinds gives 2 edges
func.func @too_many(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "npu.gelu"(%x) {fuse.pattern_kind = #fuse.pattern_kind<elemwise>, fuse.edge_kinds = [#fuse.pattern_kind<elemwise>, #fuse.pattern_kind<elemwise>]} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
