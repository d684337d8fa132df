"""PyTorch's programs: captured as modules, and compiled by `torch.compile(model, backend="fuse_dialect")`."""
