"""The command `python -m isocenter.lists`."""
from ._command import run
from ._list import EXCLUDED
from ._open import open_list


def main(arguments=None):
    run("isocenter.lists", "a list of events of PETSIRD, CASToR, SAFIR, GATE or Siemens", arguments,
        lambda given: open_list(given.file, scanner=given.scanner, depth=given.depth, duration=given.duration, exclude=given.exclude, tree=given.tree,
                                delays=given.delays, norm=given.norm), _opening)


def _opening(parser):
    parser.add_argument("--scanner", help="the scanner's file, of lists that do not have it: CASToR's .hscan or .geom; of SAFIR a crystal map, too")
    parser.add_argument("--duration", type=float, help="of the scan, s; as the file says without it")
    parser.add_argument("--exclude", choices=EXCLUDED, action="append", default=[], help="what a simulation knows of its events, and is left out")
    parser.add_argument("--tree", help="of GATE: the tree with coincidences (Coincidences)")
    parser.add_argument("--delays", metavar="TREE", help="of GATE: the tree with delayed coincidences; delay without it, if there is one")
    parser.add_argument("--norm", help="of Siemens: the header of the scanner's norm (.n.hdr), for efficiencies of crystals")


if __name__ == "__main__":
    main()
