"""From Salt: what of a configuration and a tree of Salt's works here, what differs, and what has no counterpart.

    files of /etc/salt -> options with places ┐
    options -> items, converted options       ├-> CheckReport -> converted files
    trees -> functions, renderers, modules    ┘

Called by `saltern migrate`. It reads, and writes into the folder that it is given alone. Templates are looked at as
text and never rendered.
"""
