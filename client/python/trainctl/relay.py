"""A channel to a coordinator on loopback that sends nothing to a listener who is not proven.

gRPC connects by itself, again and again, and in Python takes no connection that was made elsewhere.
So it is given a socket in a folder of our own. Behind that each of its connections gets one to the
coordinator, dialled and proven (listener.py). The channel must not outlive the relay.
"""

from __future__ import annotations

import contextlib
import pathlib
import socket
import tempfile
import threading
import weakref

from .errors import Error
from .listener import Endpoint, dial

_PIECE_BYTES = 1 << 16


class Relay:
    """Threads that end with it, or with the process."""

    def __init__(self, listener: Endpoint) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="trainctl-")  # 0700
        path = str(pathlib.Path(self._folder.name) / "coordinator")
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        server.bind(path)
        server.listen()
        self.target = f"unix:{path}"
        self._faults: list[Error] = []
        weakref.finalize(self, _end, server)
        threading.Thread(target=_serve, args=(server, listener, self._faults), daemon=True).start()

    def fault(self) -> Error | None:
        """Why the newest connection was not made; None: it was."""
        return self._faults[-1] if self._faults else None


def _serve(server: socket.socket, listener: Endpoint, faults: list[Error]) -> None:
    while True:
        try:
            near, _ = server.accept()
        except OSError:
            return
        try:
            far = dial(listener)
        except Error as error:
            faults[:] = [error]
            near.close()
            continue
        faults.clear()
        for source, sink in ((near, far), (far, near)):
            threading.Thread(target=_copy, args=(source, sink), daemon=True).start()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    """Until either end is closed; then both are."""
    with contextlib.suppress(OSError):
        while piece := source.recv(_PIECE_BYTES):
            sink.sendall(piece)
    for end in (source, sink):
        _end(end)


def _end(end: socket.socket) -> None:
    """Whoever waits for it wakes up."""
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
