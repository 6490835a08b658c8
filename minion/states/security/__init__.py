"""States of who may do what: access control lists, SELinux."""
