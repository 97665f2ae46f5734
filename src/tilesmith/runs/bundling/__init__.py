"""The claim of a run in one archive: how it is made, read and compared with what a judge finds elsewhere."""
