"""In which order the axes of tensors stand: the parts of `convert-layout`."""
