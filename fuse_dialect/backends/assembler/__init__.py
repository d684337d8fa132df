"""What writes LLVM's text and makes it machine code: values, a builder, an engine, object files. It knows no kernel."""
