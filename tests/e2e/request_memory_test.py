"""What callers make the coordinator hold is bounded: calls whose requests lack their last byte."""

import contextlib
import os
import pathlib
import re
import shutil
import socket
import ssl
import struct
import subprocess
import tempfile
import unittest

from cluster import BIN, Patience

NOBODY = 65534
CALLS = 60
MESSAGE = (16 << 20) - 1024
MOST_GROWTH = 200 << 20  # of one user's requests 64 MiB are held
# HTTP/2's names.
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE = 0, 1, 3, 4, 6, 8
END_STREAM = ACK = 1
END_HEADERS = 4
INITIAL_WINDOW = 4  # of SETTINGS
FRAME = 16_384
WINDOW = 65_535


def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def headers(path):
    fields = {
        ":method": "POST",
        ":scheme": "http",
        ":path": path,
        ":authority": "localhost",
        "content-type": "application/grpc",
        "te": "trailers",
    }
    return b"".join(
        b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
        for name, value in fields.items()
    )


class Unfinished:
    """Calls on one connection; all of each request but the last byte is sent as it is taken."""

    def __init__(self, connection):
        self.connection = connection
        self.connection_window = self.window = WINDOW
        self.left, self.windows = {}, {}  # by stream: bytes to send, bytes that it takes
        self.ended = 0
        self.heard = b""
        connection.settimeout(10)
        connection.sendall(PREFACE + frame(SETTINGS, 0, 0, b""))

    def begin(self, path, calls=CALLS):
        prefix = struct.pack(">BI", 0, MESSAGE)
        for _ in range(calls):
            stream = 2 * (len(self.windows) + 1) - 1
            self.windows[stream] = self.window - len(prefix)
            self.connection_window -= len(prefix)
            self.left[stream] = MESSAGE - 1
            self.connection.sendall(
                frame(HEADERS, END_HEADERS, stream, headers(path)) + frame(DATA, 0, stream, prefix)
            )

    def send_all(self):
        """Until nothing more is taken for a second. What is left stays open."""
        with contextlib.suppress(ConnectionError):
            while self.send() or self.hear(1.0):
                self.hear(0)

    def send(self):
        sent = False
        for stream, left in list(self.left.items()):
            size = min(FRAME, left, self.windows[stream], self.connection_window)
            if size <= 0:
                continue
            self.connection.sendall(frame(DATA, 0, stream, bytes(size)))
            self.left[stream] -= size
            self.windows[stream] -= size
            self.connection_window -= size
            sent = True
        return sent

    def hear(self, seconds):
        """Whether anything came."""
        self.connection.settimeout(seconds)
        try:
            chunk = self.connection.recv(1 << 16)
        except (TimeoutError, BlockingIOError, ssl.SSLWantReadError):
            return False
        finally:
            self.connection.settimeout(10)
        if not chunk:
            raise ConnectionError("the coordinator has closed the connection")
        self.heard += chunk
        while len(self.heard) >= 9:
            end = 9 + struct.unpack(">I", b"\0" + self.heard[:3])[0]
            if len(self.heard) < end:
                break
            kind, flags, stream = struct.unpack(">BBI", self.heard[3:9])
            payload, self.heard = self.heard[9:end], self.heard[end:]
            self.take(kind, flags, stream, payload)
        return True

    def take(self, kind, flags, stream, payload):
        if kind == WINDOW_UPDATE:
            more = struct.unpack(">I", payload)[0]
            if stream == 0:
                self.connection_window += more
            elif stream in self.windows:
                self.windows[stream] += more
        elif kind == SETTINGS and not flags & ACK:
            for name, value in struct.iter_unpack(">HI", payload):
                if name == INITIAL_WINDOW:
                    for known in self.windows:
                        self.windows[known] += value - self.window
                    self.window = value
            self.connection.sendall(frame(SETTINGS, ACK, 0, b""))
        elif kind == PING and not flags & ACK:
            self.connection.sendall(frame(PING, ACK, 0, payload))
        elif kind == RST_STREAM or (kind == HEADERS and flags & END_STREAM):
            self.ended += self.left.pop(stream, None) is not None


class RequestMemory(Patience, unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="trainctl-memory-"))
        self.addCleanup(shutil.rmtree, self.dir)
        self.dir.chmod(0o711)

    def start(self, *options):
        """The address that it told."""
        address = self.dir / "address"
        log = open(self.dir / "log", "w")
        self.addCleanup(log.close)
        self.coordinator = subprocess.Popen(
            [BIN / "traincoordinator", "--dir", self.dir / "site", "--listen", "127.0.0.1:0",
             "--address-file", address, *options], stderr=log)  # fmt: skip
        self.addCleanup(self.coordinator.wait, 60)
        self.addCleanup(self.coordinator.terminate)
        self.eventually(
            "it listens", 60, lambda: address.exists() and address.read_text().endswith("\n")
        )
        self.address = address.read_text().strip()

    def connect(self, user=None):
        """As whoever the kernel is told."""
        host, port = self.address.rsplit(":", 1)
        if user is not None:
            os.seteuid(user)
        connection = socket.socket()
        if user is not None:
            os.seteuid(0)
        connection.connect((host, int(port)))
        self.addCleanup(connection.close)
        return connection

    def resident_bytes(self):
        status = pathlib.Path(f"/proc/{self.coordinator.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024

    def attack(self, path, connection, calls=CALLS):
        """The calls, and how many bytes more the coordinator has."""
        before = self.resident_bytes()
        unfinished = Unfinished(connection)
        unfinished.begin(path, calls)
        unfinished.send_all()
        growth = self.resident_bytes() - before
        print(f"{path}: {calls} calls, {unfinished.ended} ended, {growth >> 20} MiB more")
        return unfinished, growth

    def expect_answers(self):
        result = subprocess.run(
            [BIN / "trainctl", "workers", "-o", "json"],
            env={**os.environ, "TRAINCTL_SERVER": self.address},
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual(result.returncode, 0, result.stderr)

    def as_root(self):
        if os.geteuid() != 0:
            self.skipTest("only root can be several users")

    def test_one_users_unfinished_requests_are_bounded_and_others_are_answered(self):
        self.as_root()
        self.start("--role", "nobody=user")
        _, growth = self.attack("/trainctl.v1.Coordinator/Submit", self.connect(NOBODY))
        self.assertLess(growth, MOST_GROWTH)
        self.expect_answers()
        _, growth = self.attack("/trainctl.v1.Coordinator/Watch", self.connect(NOBODY))
        self.assertLess(growth, MOST_GROWTH)
        self.expect_answers()

    def test_nothing_is_read_of_who_has_no_role(self):
        self.as_root()
        self.start("--role", "nobody=none")
        for method in ("Coordinator/Submit", "Coordinator/Logs", "WorkerGateway/Connect"):
            unfinished, growth = self.attack(f"/trainctl.v1.{method}", self.connect(NOBODY))
            self.assertEqual(unfinished.ended, CALLS)
            self.assertLess(growth, 32 << 20, method)
        self.expect_answers()

    def test_what_anybody_may_ask_is_bounded(self):
        self.start()
        for path in (
            "/grpc.health.v1.Health/Check",
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
            "/trainctl.v1.Nothing/Nothing",
        ):
            _, growth = self.attack(path, self.connect())
            self.assertLess(growth, MOST_GROWTH, path)
            self.expect_answers()

    def test_nothing_is_read_over_tls_of_who_has_no_token(self):
        keys = self.dir / "keys"
        subprocess.run([BIN / "traincoordinator", "init", "--dir", keys, "--name", "localhost"],
                       check=True, capture_output=True)  # fmt: skip
        self.start("--site-keys", keys)
        context = ssl.create_default_context(cafile=keys / "ca.pem")
        context.set_alpn_protocols(["h2"])
        connection = context.wrap_socket(self.connect(), server_hostname="localhost")
        self.addCleanup(connection.close)
        unfinished, growth = self.attack("/trainctl.v1.Coordinator/Submit", connection, calls=40)
        self.assertEqual(unfinished.ended, 40)
        self.assertLess(growth, 32 << 20)


if __name__ == "__main__":
    unittest.main()
