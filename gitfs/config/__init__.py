"""What a configuration says of git remotes, parsed once: options, addresses, refspecs, which commits may go live."""
