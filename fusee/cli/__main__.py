"""`python -m fusee.cli` is the same as `fusee`."""

from fusee.cli.main import main

main()
