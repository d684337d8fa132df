"""What names of saved programs end in, for those who only look at names."""

SUFFIX = ".fuse"
