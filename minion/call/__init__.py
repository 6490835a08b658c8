"""`saltern call`: one execution function on this machine, and the outputters."""
