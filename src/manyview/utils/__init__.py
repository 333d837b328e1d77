"""Utilities for all layers: threads, memory, array types, HTML templates, optional libraries.

Nothing here imports another part of manyview but its exceptions.
"""
