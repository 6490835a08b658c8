"""The controller's configuration: files, options, and how each is read."""
