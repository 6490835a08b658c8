"""States of disks: logical volumes, block devices, how full file systems are."""
