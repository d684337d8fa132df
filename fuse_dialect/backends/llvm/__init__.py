"""Loop programs to machine code through LLVM: text of LLVM IR, which llvmlite compiles in this process."""
