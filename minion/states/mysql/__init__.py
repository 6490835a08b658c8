"""State modules of MySQL and MariaDB, one file a module."""
