"""One client: its scan is put away as it comes, and answered with images."""
import contextlib
import logging
import re
import socket
import threading
import time
from collections import namedtuple

from ... import errors
from ...context import Context
from .. import _header, _image_heads
from .._file import Raw
from .._reconstruction import Work
from . import _messages
from ._early import Early
from ._messages import Ended, Refused
from ._options import Options, in_options
from ._received import Received

READING = ("encoding", "kind", "coils", "navigators")  # options of `read`
MOST_SIDE = 0xffff  # which the format measures in 16 bits
LINGER = 5.0  # seconds that a client has to read why its session ended

Settings = namedtuple("Settings", "most timeout configs device threads stopping densities")
Settings.__doc__ = """`most` bytes of a session, `timeout` in seconds, `configs` a folder or None, `device` and `threads` of contexts, `stopping` an
Event that is set when the server ends, `densities` of the trajectories of all its scans."""

log = logging.getLogger("isocenter.raw.server")


class Gone(ConnectionAbortedError):
    """Nothing can be sent any more."""


class Session:
    """Runs on a thread of its own, from `run` to the closed connection."""

    def __init__(self, connection, settings):
        self._connection, self._settings = connection, settings
        self._options, self._xml, self._spaces, self._readouts = Options(settings.configs), None, (), []
        self._early, self._repetition = Early(self._work, settings.most), 0
        self._told_of_images = self._broken = False

    def run(self):
        warnings = _Warnings(self._tell)
        warnings.listen()
        try:
            self._connection.settimeout(self._settings.timeout)
            self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._connection.makefile("rb", buffering=1 << 16) as incoming:
                self._receive_and_answer(incoming)
                self._say_goodbye(incoming)
        except OSError as e:
            log.info("the connection is lost: %s", e)
        finally:
            warnings.stop()
            self._early.end(abandoned=True)
            self._early, self._readouts = None, []
            self._connection.close()

    def _receive_and_answer(self, incoming):
        try:
            for message in _messages.Reader(incoming.read, self._settings.most).messages():
                self._taken[message.kind](self, message.body)
            self._answer()
        except Ended as e:
            self._fail("the server is being stopped" if self._settings.stopping.is_set() else f"{e}: {len(self._readouts)} readouts are dropped")
        except Refused as e:
            self._fail(str(e))
        except socket.timeout:
            self._fail(f"nothing was sent or taken for {self._settings.timeout:g} s, the server's --timeout: the scan is dropped")
        except errors.CancelledError:
            self._fail("the server is being stopped")
        except OSError:
            raise
        except MemoryError:
            self._fail("the scan needs more memory than the server has")
        except (errors.Error, ValueError) as e:
            self._fail(_in_words(str(e)))
        except Exception as e:
            log.exception("a fault of the server")
            self._fail(f"a fault of the server, not of the scan: {type(e).__name__}: {e}")

    def _take_name(self, name):
        self._tell_all(self._options.named(name))
        self._begin_again()

    def _take_text(self, text):
        """JSON that comes beside the configuration; other texts are for people."""
        if text.lstrip().startswith("{"):
            self._take_options(text)

    def _take_options(self, text):
        self._tell_all(self._options.text(text))
        self._begin_again()

    def _begin_again(self):
        """With other options, what was made early is of no use."""
        if self._readouts:
            self._early.end(abandoned=True)
            self._early = Early(self._work, self._settings.most)

    def _take_header(self, xml):
        if self._xml is not None:
            raise Refused("a second header came: a session is of one scan")
        try:
            self._spaces = _header.parsed(xml).encodings
        except (ValueError, SyntaxError, OverflowError) as e:
            raise Refused(f"the header is no ISMRMRD header ({e})") from None
        self._xml = xml
        self._check_voxels(1)

    def _take_readout(self, readout):
        if readout.repetition > self._repetition:
            self._repetition = readout.repetition
            if self._xml is not None:
                self._early.offer(list(self._readouts), readout.repetition)
        self._readouts.append(readout)

    def _take_image(self, _):
        if not self._told_of_images:
            self._told_of_images = True
            self._tell("images are not used: this server makes them of readouts (messages 1008)")

    def _leave(self, _):
        pass

    _taken = {_messages.CONFIG_FILE: _take_name, _messages.CONFIG_TEXT: _take_options, _messages.HEADER: _take_header, _messages.TEXT: _take_text,
              _messages.ACQUISITION: _take_readout, _messages.IMAGE: _take_image, _messages.WAVEFORM: _leave, _messages.CLOSE: _leave}

    def _check_voxels(self, coils):
        """Before images are made: the header's sizes are whatever a client wrote."""
        for space in self._spaces:
            ratios = [max(f / v, n, m) if v > 0 and m > 1 else max(n, m) for f, v, n, m in zip(
                space.encoded.field_of_view, space.recon.voxel, space.recon.shape, space.encoded.shape)] if min(space.recon.shape) > 0 else [1.0] * 3
            size = 8.0 * coils * ratios[0] * ratios[1] * ratios[2]
            if max(ratios) > MOST_SIDE or size > self._settings.most:
                raise Refused(f"the header's {' x '.join(f'{n:.6g}' for n in ratios[::-1])} voxels for {coils} coil{'s' * (coils > 1)} take {size:.4g} bytes, "
                              f"more than {self._settings.most} for a session: start the server with a larger --max-bytes")

    def _answer(self):
        begin = time.monotonic()
        if not self._readouts:  # a client that only asks whether the server is there has no header either
            if self._xml is not None:
                self._tell("no readouts came: there is nothing to reconstruct")
            return
        if self._xml is None:
            raise Refused("the scan has no header (message 3): matrix and field of view are there")
        self._early.end()
        with self._work(self._readouts, self._early.memory) as work:
            self._send_images(work, begin)

    @contextlib.contextmanager
    def _work(self, readouts, memory, cancelled=bool):
        """The `Work` of readouts; `cancelled` says whether nobody wants it any more."""
        options = dict(self._options.values)
        options.pop("images", None)
        raw = Raw(Received(self._xml, readouts), **{name: options.pop(name) for name in READING if name in options})
        self._check_voxels(raw.coils)
        stopping = self._settings.stopping
        with Context(device=self._settings.device, threads=self._settings.threads, progress=lambda *_: stopping.is_set() or cancelled()) as context:
            yield Work(raw, context=context, densities=self._settings.densities, memory=memory, **options)

    def _send_images(self, work, begin):
        kind = self._options.values.get("images", "magnitude")
        images = len(work.frames) * len(work.slices)
        if images > _image_heads.MOST_IMAGES:
            raise Refused(f"the scan has {images} images, of which the format numbers {_image_heads.MOST_IMAGES}")
        with contextlib.closing(iter(work)) as each:
            for number, solved in enumerate(each):
                which, frame = divmod(number, len(work.frames))
                head, attributes = _image_heads.finished(_image_heads.head_of(work.raw, solved), 1 + frame * len(work.slices) + which, kind)
                self._send(_messages.image(head, attributes, _image_heads.values_of(solved.image, kind)))
                if not number:
                    log.info("%d readouts, the first image %.3f s after the last", len(self._readouts), time.monotonic() - begin)
        log.info("%d image%s in %.3f s, %d of them made before", images, "s" * (images > 1), time.monotonic() - begin, work.solver.memory.recalled)

    def _tell_all(self, lines):
        for line in lines:
            self._tell(line)

    def _tell(self, words):
        self._send(_messages.text(f"isocenter: {words}"))

    def _fail(self, words):
        log.warning("%s", words)
        try:
            self._tell(words)
        except OSError:
            pass  # the client has gone

    def _send(self, data):
        if self._broken:
            raise Gone("the client takes nothing")
        try:
            self._connection.sendall(data)
        except OSError:
            self._broken = True  # a message may be there in part, after which there can be no other
            raise

    def _say_goodbye(self, incoming):
        """Closes so that what was sent arrives: with input that nobody read, the system would throw it away."""
        try:
            self._send(_messages.close())
            self._connection.shutdown(socket.SHUT_WR)
            deadline = time.monotonic() + LINGER
            while not self._settings.stopping.is_set() and time.monotonic() < deadline:
                self._connection.settimeout(max(deadline - time.monotonic(), 0.01))
                if not incoming.read1(1 << 16):
                    break
        except OSError:
            pass


class _Warnings(logging.Handler):
    """What the package warns of on this thread, for its client."""

    def __init__(self, tell):
        super().__init__(logging.WARNING)
        self._tell, self._logger = tell, logging.getLogger("isocenter")

    def listen(self):
        self._thread = threading.get_ident()
        self._logger.addHandler(self)

    def stop(self):
        self._logger.removeHandler(self)

    def emit(self, record):
        if record.thread == self._thread and record.name != log.name:
            try:
                self._tell(_in_words(record.getMessage()))
            except OSError:
                pass  # the next message finds it, too


def _in_words(message):
    """Without the function that a message begins with, and with options for its arguments."""
    return in_options(re.sub(r"^[A-Za-z_][\w.]*: ", "", message))
