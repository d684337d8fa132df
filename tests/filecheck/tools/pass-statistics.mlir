// RUN: fuse-opt %s --fuse-ops --mlir-pass-statistics 2>&1 >/dev/null | filecheck %s --check-prefix=LINE
// RUN: fuse-opt %s --fuse-ops --mlir-pass-statistics --mlir-pass-statistics-display=json 2>&1 >/dev/null | filecheck %s --check-prefix=JSON
// RUN: fuse-opt %s --fuse-ops=dedup=false --mlir-pass-statistics 2>&1 >/dev/null | filecheck %s --check-prefix=APART
// RUN: fuse-opt %s --canonicalize --mlir-pass-statistics 2>&1 >/dev/null | filecheck %s --check-prefix=NONE --allow-empty

// Two kernels of one structure: exp and relu, 16 + 16 bytes each where the ops alone move 64; the argument counts once.
// LINE: fuse-ops: ops=4 groups=2 primitives=1 bytes-before=128 bytes-after=64; refusals: value-escapes=2{{$}}
// APART: fuse-ops: ops=4 groups=2 primitives=2 bytes-before=128 bytes-after=64; refusals: value-escapes=2{{$}}
// JSON: {"pass": "fuse-ops", "ops": 4, "groups": 2, "primitives": 1, "bytes-before": 128, "bytes-after": 64, "dynamic-values": 0, "refusals": {"value-escapes": 2}}
// NONE-NOT: ops=

func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = fuse.exp %x : tensor<4xf32>
  %1 = fuse.relu %0 : tensor<4xf32>
  %2 = fuse.exp %y : tensor<4xf32>
  %3 = fuse.relu %2 : tensor<4xf32>
  return %1, %3 : tensor<4xf32>, tensor<4xf32>
}

