"""Images of repetitions that are over, made while later ones come."""
import contextlib
import logging
import threading

from .._memory import Memory

log = logging.getLogger("isocenter.raw.server")


class Early:
    """`work_of(readouts, memory, cancelled)` is a context manager of the `Work` of a part of the scan. What is wrong with a part is told when all is there, and
    images are taken only where all of the scan has the same readouts for them."""

    def __init__(self, work_of, room):
        self.memory, self._work_of = Memory(room), work_of
        self._changed, self._part, self._ended, self._abandoned = threading.Condition(), None, False, False
        self._thread, self._first = None, 0

    def offer(self, readouts, repetition):
        """All readouts so far: the repetitions before this one are over."""
        with self._changed:
            self._part = readouts, repetition
            self._changed.notify()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=threading.current_thread().name, daemon=True)
            self._thread.start()

    def end(self, abandoned=False):
        """Waits for the image that is being made, or cancels it."""
        with self._changed:
            self._ended, self._abandoned = True, abandoned
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()
        self.memory.close()

    def _run(self):
        logger, thread = logging.getLogger("isocenter"), threading.get_ident()

        def others(record):  # warnings come again when all is there
            return record.thread != thread

        logger.addFilter(others)
        try:
            while not self._ended:
                with self._changed:
                    self._changed.wait_for(lambda: self._part or self._ended)
                    part, self._part = self._part, None
                if part and not self._ended:
                    self._solve(*part)
        finally:
            logger.removeFilter(others)

    def _solve(self, readouts, repetition):
        first, self._first = self._first, repetition
        try:
            with self._work_of(readouts, self.memory, lambda: self._abandoned) as work:
                # The first frame has the maps of the others.
                work.frames[1:] = [frame for frame in work.frames[1:] if first <= frame["repetition"] < repetition]
                with contextlib.closing(iter(work)) as images:
                    for _ in images:
                        if self._ended:
                            return
        except Exception as e:
            log.debug("not all was made of the first %d readouts: %s", len(readouts), e)
