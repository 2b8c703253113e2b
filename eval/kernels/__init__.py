"""Compiled parts of measuring. Kernels trust their input; the modules above them check it."""
