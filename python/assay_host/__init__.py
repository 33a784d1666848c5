"""The host of Python backends: what stands between Assay's worker and a vendor's published folder.

`bridge` is the only module that the worker calls; the others are behind it.
"""
