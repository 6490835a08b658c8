"""The controller's end of the wire: sockets, admission, peers, and the thread that serves them."""
