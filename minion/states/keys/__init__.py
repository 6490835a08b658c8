"""States of keyrings, and of certificates that certbot gets."""
