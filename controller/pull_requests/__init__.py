"""Pull requests of forges: what is previewed, said and applied, and when."""
