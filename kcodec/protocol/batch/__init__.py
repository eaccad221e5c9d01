"""Record batches, and the files of a partition that hold them."""
