"""Access control lists of files, and SELinux, as their programs ask and tell them."""
