"""`python -m harness` is the `rackspan` command."""

from harness.cli.app import main

main()
