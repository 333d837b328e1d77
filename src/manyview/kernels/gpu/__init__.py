"""Kernels in torch: for a GPU, and tested on the CPU.

Nothing outside imports this package, or torch, unless a device is asked for.
"""
