"""Names of this site."""


def banner() -> str:
    """A line for configuration files."""
    return "managed by the site's tree"
