"""Interfaces, routes and global settings of the network, in the files of the system's own network manager."""
