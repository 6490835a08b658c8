"""What states brought into being on this machine, what they overwrote, and how what git no longer names is removed."""
