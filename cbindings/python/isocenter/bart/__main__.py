"""The command `python -m isocenter.bart`."""
import shlex
import sys

import isocenter

from . import _nufft, _pics
from ._cfl import readcfl, writecfl

COMMANDS = {"pics": _pics.run, "nufft": _nufft.run}
HELP = """usage: python -m isocenter.bart pics|nufft [options] files

BART's commands, with BART's options, files, units and scale. `python -m isocenter.bart pics -h` lists the options.
"""


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if not arguments or arguments[0] in ("-h", "--help"):
        print(HELP, end="")
        return
    name, *rest = arguments
    if name not in COMMANDS:
        sys.exit(f"isocenter.bart: {name} is not done here; BART's commands that are: {', '.join(COMMANDS)}")
    read = []

    def reading(path):
        read.append(path)
        return readcfl(path)

    def writing(path, array):
        writecfl(path, array, command="isocenter.bart " + shlex.join(arguments), files=[f">{path}", *(f"<{path}" for path in read)])

    try:
        COMMANDS[name](rest, reading, writing)
    except (isocenter.Error, ValueError, OSError) as e:
        sys.exit(f"isocenter.bart {name}: {e}")


if __name__ == "__main__":
    main()
