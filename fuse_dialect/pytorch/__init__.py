"""PyTorch's programs: `torch.compile(model, backend="fuse_dialect")`."""
