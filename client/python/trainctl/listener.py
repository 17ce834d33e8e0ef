"""Whose a listener on loopback is: the rule of common/peer/dial.h, for clients in Python.

The kernel records with every socket the user whose process made it, and tells it in /proc/net/tcp.
A port that no coordinator has is free for any user of the host. Whoever takes it must learn
nothing.
"""

from __future__ import annotations

import ipaddress
import os
import pathlib
import pwd
import socket
import sys
import time

from .errors import Denied, Unreachable

PATIENCE_SECONDS = 5.0
_BETWEEN_LOOKS_SECONDS = 0.002
_ESTABLISHED = "01"
_SERVICE_ACCOUNT = "trainctl"
_ALL_USERS = 4294967295
_USUAL_OVERFLOW_USER = 65534

# As a socket names its ends: host, port, and what IPv6 has besides.
Endpoint = tuple[str, int]


def on_loopback(address: str) -> Endpoint | None:
    """Of "HOST:PORT", as the coordinator listens: localhost is 127.0.0.1. None: elsewhere."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    if host == "localhost":
        host = "127.0.0.1"
    try:
        found = socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)[0][4]
    except OSError:
        return None
    numeric = str(found[0])
    return (numeric, int(found[1])) if ipaddress.ip_address(numeric).is_loopback else None


def dial(listener: Endpoint) -> socket.socket:
    """A connection whose other end is proven; nothing was sent.

    Unreachable: nobody listens or accepts there. Denied: it is a user who is not trusted.
    """
    family = socket.AF_INET6 if ":" in listener[0] else socket.AF_INET
    connection = socket.socket(family, socket.SOCK_STREAM)
    try:
        connection.settimeout(PATIENCE_SECONDS)
        connection.connect(listener)
        own = connection.getsockname()[:2]
        _check_trusted(_owner(listener, own), listener)
    except OSError as error:
        connection.close()
        raise Unreachable(f"{_text(listener)}: {error.strerror or error}") from None
    except BaseException:
        connection.close()
        raise
    connection.settimeout(None)
    return connection


def _owner(listener: Endpoint, own: Endpoint) -> int:
    """Of the listener's end. Until it is accepted it is no process's."""
    end = time.monotonic() + PATIENCE_SECONDS
    last = None
    while time.monotonic() < end:
        record = _look(listener, own)
        stands = _look(own, listener) is not None
        if not stands:
            raise Unreachable(
                f"{_text(listener)}: the connection was closed at once: your programs may have too "
                "many open"
            )
        if record is not None and record == last:
            return record[0]
        last = record
        time.sleep(_BETWEEN_LOOKS_SECONDS)
    raise Unreachable(
        f"{_text(listener)}: who listens there takes no connections: it is stopped, or very busy"
    )


def _look(local: Endpoint, remote: Endpoint) -> tuple[int, int] | None:
    """User and inode of the socket with these ends. None: none stands, or no process has it."""
    wanted = [
        [_kernel_text(local, mapped), _kernel_text(remote, mapped), _ESTABLISHED]
        for mapped in (False, True)
    ]
    for name in ("tcp", "tcp6"):
        try:
            table = pathlib.Path("/proc/self/net", name).read_text(encoding="ascii")
        except FileNotFoundError:
            continue
        for line in table.splitlines()[1:]:
            words = line.split()
            if words[1:4] in wanted and int(words[9]) != 0:
                return int(words[7]), int(words[9])
    return None


def _kernel_text(endpoint: Endpoint, mapped: bool) -> str:
    """As the kernel prints it: the address as words of this machine's byte order, then the port."""
    address = ipaddress.ip_address(endpoint[0])
    packed = address.packed
    if mapped and len(packed) == 4:
        packed = bytes(10) + b"\xff\xff" + packed
    words = [packed[i : i + 4] for i in range(0, len(packed), 4)]
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words) + (
        f":{endpoint[1]:04X}"
    )


def _check_trusted(user: int, listener: Endpoint) -> None:
    if user == _overflow_user() and not _maps_all_users():
        raise Denied(
            f"{_text(listener)}: who is at the other end is not known: this program runs in a user "
            f"namespace, which shows all users outside of it as {user}"
        )
    name = _name_of(user)
    trusted = (_SERVICE_ACCOUNT, os.environ.get("TRAINCTL_SERVER_USER"))
    if user in (0, os.geteuid()) or name in trusted:
        return
    raise Denied(
        f"{_text(listener)}: user '{name}' listens there, who is neither root nor you "
        f"({_name_of(os.geteuid())}): nothing was sent. If that is your coordinator, say "
        f"TRAINCTL_SERVER_USER={name}"
    )


def _name_of(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"uid:{user}"


def _overflow_user() -> int:
    try:
        return int(pathlib.Path("/proc/sys/kernel/overflowuid").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return _USUAL_OVERFLOW_USER


def _maps_all_users() -> bool:
    """Where our user namespace maps fewer, the overflow user stands for all the others."""
    try:
        lines = pathlib.Path("/proc/self/uid_map").read_text(encoding="ascii").splitlines()
    except OSError:
        return False
    return sum(int(line.split()[2]) for line in lines) >= _ALL_USERS


def _text(endpoint: Endpoint) -> str:
    return (
        f"[{endpoint[0]}]:{endpoint[1]}" if ":" in endpoint[0] else f"{endpoint[0]}:{endpoint[1]}"
    )
