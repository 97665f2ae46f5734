"""`tilesmith forge`, and the options that it shares with `tilesmith suite`."""
