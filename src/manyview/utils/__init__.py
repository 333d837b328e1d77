"""Utilities for all layers: threads, memory, array types, HTML templates.

Nothing here imports another part of manyview.
"""
