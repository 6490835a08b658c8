"""States of software that does not come from the system's package manager: snaps, Flatpak."""
