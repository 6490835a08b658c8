"""States of servers of the web and of what watches them."""
