"""The command `python -m isocenter.petsird`."""
from ..lists._command import run
from ._list import PETSIRD


def main(arguments=None):
    run("isocenter.petsird", "a PETSIRD file of list-mode events", arguments, lambda given: PETSIRD(given.file, given.depth))


if __name__ == "__main__":
    main()
