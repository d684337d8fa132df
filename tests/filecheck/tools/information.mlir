// RUN: fuse-opt --version | filecheck %s --check-prefix=VERSION
// RUN: fuse-opt --list-passes | filecheck %s --check-prefix=PASSES
// RUN: fuse-opt --help | filecheck %s --check-prefix=HELP
// RUN: fuse-opt --demo | filecheck %s --check-prefix=DEMO

// VERSION: fuse-opt {{[0-9.]+}} on xDSL 0.74

// PASSES: passes of fuse_dialect:
// PASSES-NEXT: fuse-ops{opt-level=2 max-depth=256 {{.*}}}  {{[A-Z].*}}
// PASSES: passes of xDSL and its plug-ins:
// PASSES: {{^  canonicalize  [A-Z]}}

// HELP: usage: fuse-opt
// HELP: --mlir-elide-elementsattrs-if-larger N

// DEMO: Before:
// DEMO: func.func @main
// DEMO: After --fuse-ops
// DEMO: func.func private @fused_dense_add_relu
// DEMO: 'fuse.relu' op not fused into 'fuse.sum': edge-kind
