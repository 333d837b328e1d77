"""Files that outlive a process: model files, checkpoints, and atomic writes.

Everything that writes a file uses `atomic`. What is in the files is decided by `solver` and the
estimator; nothing here computes.
"""
