"""Modules from files and text, verified, and what is written back: below the library and the command lines."""
