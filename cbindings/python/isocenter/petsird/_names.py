"""Names of a schema."""
import re


def snake(name):
    """A name as yardl writes it in Python."""
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    name = re.sub("([a-z0-9])([A-Z])", r"\1_\2", name)
    return re.sub("([A-Za-z])([0-9]+)$", r"\1_\2", name).lower()
