"""file.directory and file.recurse: folders, and whole trees below them."""
