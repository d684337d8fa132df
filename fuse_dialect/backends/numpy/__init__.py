"""The backend without code of its own: every primitive runs by its NumPy meaning."""

from fuse_dialect.backends.numpy.backend import NumPyBackend

__all__ = ["NumPyBackend"]
