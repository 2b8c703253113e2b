"""Compiled parts of the agents. Kernels trust their input; the modules above them check it."""
