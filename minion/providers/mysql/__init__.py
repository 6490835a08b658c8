"""What a MySQL or MariaDB server is asked and told: the library of the states and functions of both."""
