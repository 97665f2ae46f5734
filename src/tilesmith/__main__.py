"""`python -m tilesmith` is the `tilesmith` command."""

from tilesmith.cli.main import main

main()
