"""`python -m saltern VERB ...`."""

from saltern import main

main()
