"""The command `python -m isocenter.raw.server`."""
import argparse
import logging
import os
import signal
import sys

import isocenter

from . import Server


def main(arguments=None):
    given = _parser().parse_args(arguments)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(threadName)s: %(message)s")
    logging.getLogger("isocenter.raw.server").setLevel(logging.INFO)
    try:
        isocenter.Context(device=given.device, threads=given.threads).close()  # which says now what a client would be told
        server = Server(given.host, given.port, max_bytes=given.max_bytes, max_clients=given.max_clients, timeout=given.timeout, configs=given.configs,
                        device=given.device, threads=given.threads)
    except (isocenter.Error, ValueError) as e:
        sys.exit(f"isocenter.raw.server: {e}")
    except (OSError, OverflowError) as e:
        sys.exit(f"isocenter.raw.server: cannot listen on {given.host}:{given.port}: {e}")
    signal.signal(signal.SIGTERM, lambda *_: server.stop())
    signal.signal(signal.SIGINT, lambda *_: server.stop())
    print(f"listening on {server.address[0]}:{server.address[1]}", flush=True)
    server.serve()


def _parser():
    parser = argparse.ArgumentParser(prog="python -m isocenter.raw.server", description="Takes MRI scans by the ISMRMRD streaming protocol (MRD) over TCP, and answers with images.",
                                     epilog="Whoever reaches the port may send scans: there is no password, and nothing is encrypted. Ctrl-C or SIGTERM ends the server, with status 0.")
    parser.add_argument("--host", default="127.0.0.1", help="where to listen (127.0.0.1, this computer alone); 0.0.0.0: wherever it can be reached")
    parser.add_argument("--port", type=int, default=9002, help="(9002); 0: one that is free, which is told")
    parser.add_argument("--max-bytes", type=_size, default=1 << 32, metavar="SIZE", help="of a session, such as 500M (4G): what a client sends, and its header's voxels for all coils")
    parser.add_argument("--max-clients", type=_count, default=4, metavar="N", help="at once (4); others wait")
    parser.add_argument("--timeout", type=_seconds, default=300.0, metavar="SECONDS", help="that a client may neither send nor take anything (300)")
    parser.add_argument("--configs", type=_folder, metavar="FOLDER", help="of configurations, NAME.json, and arrays, NAME.npy, that clients may name")
    parser.add_argument("--threads", type=int, default=0, help="of each session, at most (0: one for each processor)")
    parser.add_argument("--device", choices=("auto", "cpu", "gpu"), default="auto")
    return parser


def _size(text):
    scale = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:].upper(), 1)
    return _above_zero(int(text[:-1] if scale > 1 else text) * scale)


def _count(text):
    return _above_zero(int(text))


def _seconds(text):
    return min(_above_zero(float(text)), 1e6)


def _above_zero(value):
    if not value > 0:
        raise argparse.ArgumentTypeError("it must be above 0")
    return value


def _folder(text):
    if not os.path.isdir(text):
        raise argparse.ArgumentTypeError(f"{text} is no folder")
    return text


if __name__ == "__main__":
    main()
