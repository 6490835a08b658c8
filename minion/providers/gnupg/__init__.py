"""GnuPG: keychains, asked and changed by gpg(1)."""
