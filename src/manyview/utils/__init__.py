"""What every layer may use: threads, memory, types of arrays, pages from templates.

Nothing here imports another part of manyview.
"""
