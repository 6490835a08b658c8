"""What documents stand on: whom a push concerns, and what holds still after a restart."""
