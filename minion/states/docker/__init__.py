"""The state modules `docker_container`, `docker_image`, `docker_network` and `docker_volume`."""
