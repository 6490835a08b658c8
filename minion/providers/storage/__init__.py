"""Disks as their programs show and change them."""
