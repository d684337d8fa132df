// RUN: fuse-opt --version | filecheck %s --check-prefix=VERSION
// RUN: fuse-opt --list-passes | filecheck %s --check-prefix=PASSES
// RUN: fuse-opt --help | filecheck %s --check-prefix=HELP
// RUN: fuse-opt --help-pass=fuse-ops | filecheck %s --check-prefix=OURS
// RUN: fuse-opt --help-pass=cse | filecheck %s --check-prefix=THEIRS
// RUN: not fuse-opt --help-pass=fuse-op 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: fuse-opt --demo | filecheck %s --check-prefix=DEMO

// VERSION: fuse-opt {{[0-9]+[.][0-9]+[.][0-9]+[.a-z0-9+]*}} on xDSL 0.74

// PASSES: passes of fuse_dialect:
// PASSES-NEXT: fuse-ops{opt-level=2 max-depth=256 {{.*}}}  {{[A-Z].*}}
// PASSES: passes of xDSL and its plug-ins:
// PASSES: {{^  canonicalize  [A-Z]}}

// HELP: usage: fuse-opt
// HELP: --mlir-elide-elementsattrs-if-larger N

// OURS: usage: fuse-opt --fuse-ops="opt-level=2" [input]
// OURS: options:
// OURS-NEXT: {{^  opt-level=2  \(integer\)$}}
// OURS-NEXT: {{^      0 makes every operator}}
// OURS: {{^  dedup=true  \(true or false\)$}}

// THEIRS: usage: fuse-opt --cse [input]
// UNKNOWN: error: unknown pass 'fuse-op'
// UNKNOWN-NEXT: hint: did you mean 'fuse-ops'?

// DEMO: Before:
// DEMO: func.func @main
// DEMO: After --fuse-ops
// DEMO: func.func private @fused_dense_add_relu
// DEMO: 'fuse.relu' op not fused into 'fuse.sum': edge-kind
