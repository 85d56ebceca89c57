"""Listens for clients, and has a thread for each."""
import logging
import socket
import threading
import time

from .._densities import Densities
from ._session import Session, Settings

log = logging.getLogger("isocenter.raw.server")
LOOK = 0.25  # seconds after which a server that waits for clients looks whether it is to end
GRACE = 5.0  # seconds for sessions to end in


class Server:
    """An MRD server. Clients have a thread each: the library computes without Python's lock, and all share its threads.

    Parameters
    ----------
    host, port : str, int
        Where to listen; port 0 takes one that is free.
    max_bytes : int
        Of one session: what a client sends, and the voxels of its header for all coils.
    max_clients : int
        At once; others wait until one has gone.
    timeout : float
        Seconds that a client may neither send nor take anything.
    configs : path, optional
        A folder of configurations, NAME.json, and of arrays, NAME.npy, that clients may name.
    device, threads
        As of `isocenter.Context`.

    Attributes
    ----------
    address : tuple
        Host and port where it listens.

    Raises
    ------
    OSError
        Where it cannot listen.
    """

    def __init__(self, host="127.0.0.1", port=9002, *, max_bytes=1 << 32, max_clients=4, timeout=300.0, configs=None, device="auto", threads=0):
        self._settings = Settings(max_bytes, timeout, configs, device, threads, threading.Event(), Densities())
        self._most, self._sessions = max_clients, {}
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        self._listener = socket.create_server((host, port), family=family)
        self.address = self._listener.getsockname()[:2]

    def serve(self):
        """Takes clients until `stop`, or an exception such as KeyboardInterrupt; then ends all sessions."""
        self._listener.settimeout(LOOK)
        try:
            while not self._settings.stopping.is_set():
                self._sessions = {thread: c for thread, c in self._sessions.items() if thread.is_alive()}
                if len(self._sessions) >= self._most:  # others wait to be taken
                    self._settings.stopping.wait(LOOK)
                    continue
                try:
                    connection, address = self._listener.accept()
                except socket.timeout:
                    continue
                except OSError as e:  # a client that has gone already, or no more descriptors
                    log.warning("a client could not be taken: %s", e)
                    time.sleep(LOOK)
                    continue
                self._begin(connection, f"{address[0]}:{address[1]}")
        finally:
            self.stop()
            self._listener.close()
            self._end_sessions()

    def stop(self):
        """Lets `serve` end, from any thread: sessions are cancelled, and their clients told so."""
        self._settings.stopping.set()

    def _begin(self, connection, name):
        thread = threading.Thread(target=Session(connection, self._settings).run, name=name, daemon=True)
        try:
            thread.start()
        except RuntimeError as e:  # the system has no more
            log.warning("%s cannot be served: %s", name, e)
            connection.close()
            return
        self._sessions[thread] = connection

    def _end_sessions(self):
        deadline = time.monotonic() + GRACE
        for how, until in ((socket.SHUT_RD, deadline - GRACE / 2), (socket.SHUT_RDWR, deadline)):  # what is being sent may end first
            for thread, connection in self._sessions.items():
                if thread.is_alive():
                    _shut(connection, how)
            for thread in self._sessions:
                thread.join(max(until - time.monotonic(), 0))


def _shut(connection, how):
    try:
        connection.shutdown(how)
    except OSError:
        pass  # it is closed
