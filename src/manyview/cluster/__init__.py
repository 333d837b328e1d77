"""A fit whose rows are on a cluster, and methods of its model on rows that are there.

What is gathered here is small: models, statistics, and a sample of the rows. The engine is
`engines.cluster`; how a view on a cluster is described, `data.partitions`.
"""
