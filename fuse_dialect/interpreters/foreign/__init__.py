"""What ops of other dialects mean, on NumPy arrays: rows by the op's name, a file for each dialect."""
