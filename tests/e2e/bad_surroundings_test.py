"""A coordinator to whom anybody says anything, or whose disk is full."""

import random
import re
import socket
import struct
import subprocess
import unittest

from cluster import TOP, ClusterTest, tiny_job

# HTTP/2's names.
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, GOAWAY = 0, 1, 3, 4, 7
END_STREAM, END_HEADERS = 1, 4


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


def is_answered(heard):
    """Whether there is a frame in it that ends the call or the connection."""
    while len(heard) >= 9:
        size, kind, flags = struct.unpack(">I", b"\0" + heard[:3])[0], heard[3], heard[4]
        if (kind == HEADERS and flags & END_STREAM) or kind in (RST_STREAM, GOAWAY):
            return True
        heard = heard[9 + size :]
    return False


class BadWords(ClusterTest):
    WORKERS = 1

    def answers(self, words):
        """Whether the coordinator answers to these bytes, or closes the connection, within
        half a minute."""
        host, port = (self.dir / "coordinator.addr").read_text().strip().rsplit(":", 1)
        heard = b""
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            try:
                connection.sendall(words)
                while not is_answered(heard):
                    chunk = connection.recv(65536)
                    if not chunk:
                        return True
                    heard += chunk
            except TimeoutError:
                return False
            except OSError:
                return True
        return True

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
            call(b"/trainctl.v1.Nothing/Submit", b""),
        ):
            self.assertTrue(self.answers(words), words[:30])
        self.expect_goes_on(coordinator)

    def test_messages_that_cannot_be_read_are_refused(self):
        coordinator = self.process("traincoordinator")
        for method in methods():
            for message in (
                b"\xff" * 32,
                b"\x0a\xff\xff\xff\xff\x0f",
                b"\x0a\x02\xc3\x28",
                b"\x0b" * 1000,
            ):
                self.assertTrue(
                    self.answers(call(b"/trainctl.v1." + method, message)), (method, message)
                )
        self.expect_goes_on(coordinator)


class FullDisk(ClusterTest):
    WORKERS = 1

    def up(self):
        folder = self.dir / "coordinator"
        if not folder.exists():
            folder.mkdir()
            mounted = subprocess.run(
                ["mount", "-t", "tmpfs", "-o", "size=8m", "none", folder], capture_output=True
            )
            if mounted.returncode != 0:
                self.skipTest("no small disk can be mounted here")
            self.addCleanup(subprocess.run, ["umount", "-l", folder], check=True)
        super().up()

    def fill(self):
        filler = self.dir / "coordinator" / "filler"
        with open(filler, "wb", buffering=0) as out, self.assertRaises(OSError):
            while True:
                out.write(bytes(4096))
        return filler

    def test_nothing_is_accepted_that_was_not_stored_and_it_goes_on_when_there_is_space(self):
        coordinator = self.process("traincoordinator")
        self.assertEqual(self.run_job(tiny_job())[0], 0)
        filler = self.fill()
        accepted = 1
        while (submitted := self.trainctl("submit", self.write_job(tiny_job()))).returncode == 0:
            accepted += 1
            self.assertLess(accepted, 20)
        self.assertIn("full", submitted.stderr)
        self.assertEqual(len(self.json("status")["jobs"]), accepted)
        filler.unlink()
        self.eventually(
            "a job is accepted",
            15,
            lambda: self.trainctl("submit", self.write_job(tiny_job(name="last"))).returncode == 0,
        )
        self.assertEqual(self.trainctl("wait", "last").returncode, 0)
        self.assertEqual(self.process("traincoordinator"), coordinator)


if __name__ == "__main__":
    unittest.main()
