// RUN: not fuse-opt %s --compile-prefix="layout=none" 2>&1 | filecheck %s

// CHECK: error: option 'layout' of pass 'compile-prefix' expects one of NHWC, NCHW, keep, got 'none'
func.func @empty() {
  func.return
}
