"""A coordinator to whom anybody says anything, or whose disk is full."""

import random
import re
import socket
import struct
import subprocess
import unittest

from cluster import TOP, ClusterTest, tiny_job
from small_disk import fill, small_disk

# HTTP/2's names.
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, GOAWAY = 0, 1, 3, 4, 7
END_STREAM, END_HEADERS = 1, 4
# gRPC's.
INVALID_ARGUMENT, UNIMPLEMENTED = 3, 12
UNREADABLE = (
    b"\xff" * 32,  # a number without an end
    b"\x0a\xff\xff\xff\xff\x0f",  # more bytes than there are
    b"\x0b" * 1000,  # groups, which Protobuf has given up
)
NO_TEXT = b"\x0a\x02\xc3\x28"  # of the first field, no UTF-8


def methods():
    """Every method of every service: b"Coordinator/Submit"."""
    text = (TOP / "proto" / "trainctl.proto").read_text()
    services = re.findall(r"^service (\w+) \{$(.*?)^\}$", text, re.MULTILINE | re.DOTALL)
    found = [
        f"{service}/{method}".encode()
        for service, body in services
        for method in re.findall(r"^  rpc (\w+)\(", body, re.MULTILINE)
    ]
    assert len(found) == len(re.findall(r"\brpc \w+\(", text)), found
    return found


def begins_with_text(method):
    """Whether its request's first field is text."""
    text = (TOP / "proto" / "trainctl.proto").read_text()
    request = re.search(rf"rpc {method.decode().split('/')[1]}\((?:stream )?(\w+)\)", text)[1]
    body = re.search(rf"^message {request} \{{(.*?)\}}", text, re.MULTILINE | re.DOTALL)[1]
    return re.search(r"\bstring \w+ = 1;", body) is not None


def frame(kind, flags, stream, payload):
    """Of HTTP/2."""
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def literal(name, value):
    """A header that is in no table."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def call(path, message):
    """A gRPC call with these bytes as its message."""
    headers = [
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":path", path),
        (b":authority", b"x"),
        (b"content-type", b"application/grpc"),
        (b"te", b"trailers"),
    ]
    data = struct.pack(">BI", 0, len(message)) + message
    return (
        PREFACE
        + frame(SETTINGS, 0, 0, b"")
        + frame(HEADERS, END_HEADERS, 1, b"".join(literal(*header) for header in headers))
        + frame(DATA, END_STREAM, 1, data)
    )


def frames(heard):
    """Those that are whole: (kind, flags, payload) of each."""
    while len(heard) >= 9:
        size, kind, flags = struct.unpack(">I", b"\0" + heard[:3])[0], heard[3], heard[4]
        if len(heard) < 9 + size:
            return
        yield kind, flags, heard[9 : 9 + size]
        heard = heard[9 + size :]


def is_answered(heard):
    """Whether there is a frame in it that ends the call or the connection."""
    return any(
        (kind == HEADERS and flags & END_STREAM) or kind in (RST_STREAM, GOAWAY)
        for kind, flags, _ in frames(heard)
    )


def grpc_status(heard):
    """Of the first call of a connection: gRPC writes that header out then. None: there is none."""
    for kind, flags, payload in frames(heard):
        if kind == HEADERS and flags & END_STREAM:
            found = re.search(rb"\x0bgrpc-status[\x01\x02](\d+)", payload)
            return int(found[1]) if found else None
    return None


class BadWords(ClusterTest):
    WORKERS = 1

    def answer(self, words):
        """What the coordinator answers to these bytes, or says before it closes the connection.

        None: neither, within half a minute.
        """
        host, port = (self.dir / "coordinator.addr").read_text().strip().rsplit(":", 1)
        heard = b""
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            try:
                connection.sendall(words)
                while not is_answered(heard):
                    chunk = connection.recv(65536)
                    if not chunk:
                        break
                    heard += chunk
            except TimeoutError:
                return None
            except OSError:
                pass
        return heard

    def status_of(self, method, message):
        return grpc_status(self.answer(call(b"/trainctl.v1." + method, message)) or b"")

    def expect_goes_on(self, coordinator):
        self.assertEqual(self.process("traincoordinator"), coordinator)
        self.assertEqual(self.json("status")["jobs"], [])
        self.assertEqual(self.run_job(tiny_job())[0], 0)

    def test_bytes_that_are_no_call_harm_nobody(self):
        coordinator = self.process("traincoordinator")
        for words in (
            b"\0" * 4096,
            b"GET / HTTP/1.1\r\n\r\n",
            b"\xff" * 65536,
            random.Random(1).randbytes(65536),
            PREFACE + b"\xff" * 9,
        ):
            self.assertIsNotNone(self.answer(words), words[:30])
        self.expect_goes_on(coordinator)

    def test_a_method_that_is_not_there_is_refused(self):
        self.assertEqual(self.status_of(b"Nothing/Submit", b""), UNIMPLEMENTED)
        self.assertEqual(self.status_of(b"Coordinator/Nothing", b""), UNIMPLEMENTED)

    def test_messages_that_cannot_be_read_are_refused(self):
        coordinator = self.process("traincoordinator")
        for method in methods():
            messages = (*UNREADABLE, *([NO_TEXT] if begins_with_text(method) else []))
            for message in messages:
                self.assertEqual(
                    self.status_of(method, message), INVALID_ARGUMENT, (method, message)
                )
        self.expect_goes_on(coordinator)


class FullDisk(ClusterTest):
    WORKERS = 1

    def up(self):
        folder = self.dir / "coordinator"
        if not folder.exists():
            small_disk(self, folder)
        super().up()

    def test_nothing_is_accepted_that_was_not_stored_and_it_goes_on_when_there_is_space(self):
        coordinator = self.process("traincoordinator")
        self.assertEqual(self.run_job(tiny_job())[0], 0)
        filler = fill(self.dir / "coordinator")
        accepted = 1
        while (submitted := self.trainctl("submit", self.write_job(tiny_job()))).returncode == 0:
            accepted += 1
            self.assertLess(accepted, 20)
        self.assertIn("full", submitted.stderr)
        self.assertIn("the coordinator could not store", self.trainctl("status").stdout)
        self.assertEqual(len(self.json("status")["jobs"]), accepted)
        filler.unlink()
        self.eventually(
            "a job is accepted",
            15,
            lambda: self.trainctl("submit", self.write_job(tiny_job(name="last"))).returncode == 0,
        )
        self.assertEqual(self.trainctl("wait", "last").returncode, 0)
        self.assertNotIn("could not store", self.trainctl("status").stdout)
        self.assertEqual(self.process("traincoordinator"), coordinator)


if __name__ == "__main__":
    unittest.main()
