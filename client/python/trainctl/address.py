"""Which coordinator is meant: the rule of client/server_address.h and client/main.cc."""

from __future__ import annotations

import json
import os
import pathlib
import re

from .errors import Invalid

SYSTEMD_FILE = "/run/trainctl/coordinator.addr"
_ADDRESS = re.compile(r"(?:[^:]+|\[.*\]):(\d+)", re.ASCII)


def resolve(server: str | None) -> str:
    """The first that names one. Raises Invalid where none does, or what it names is no address."""
    if server:
        return _checked(server, "server")
    if named := os.environ.get("TRAINCTL_SERVER"):
        return _checked(named, "TRAINCTL_SERVER")
    configuration = _configuration_file()
    if configuration and (named := _configured(configuration)):
        return _checked(named, str(configuration))
    for path in _address_files():
        try:
            text = path.read_text(encoding="utf-8")
        except OSError:
            continue
        if text:
            return _checked(text.split("\n", 1)[0], str(path))
    raise Invalid(
        "no coordinator is known: name it as connect('HOST:PORT'), in TRAINCTL_SERVER, or as "
        f'{{"server": "HOST:PORT"}} in {configuration}; trainctl local up starts one here, which '
        "is then found"
    )


def _folder(variable: str, below_home: str) -> pathlib.Path | None:
    if named := os.environ.get(variable):
        return pathlib.Path(named)
    home = os.environ.get("HOME")
    return pathlib.Path(home) / below_home if home else None


def _configuration_file() -> pathlib.Path | None:
    folder = _folder("XDG_CONFIG_HOME", ".config")
    return folder / "trainctl" / "config.json" if folder else None


def _address_files() -> list[pathlib.Path]:
    folder = _folder("XDG_STATE_HOME", ".local/state")
    local = [folder / "trainctl" / "local" / "coordinator.addr"] if folder else []
    return [*local, pathlib.Path(SYSTEMD_FILE)]


def _configured(path: pathlib.Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise Invalid(f"{path}: {error.strerror}") from None
    try:
        configuration = json.loads(text)
        server = configuration.get("server", "")
    except (ValueError, AttributeError):
        server = None
    if not isinstance(server, str):
        raise Invalid(
            f'{path}: expected a JSON object such as {{"server": "host:7070"}}; correct or remove '
            "the file"
        )
    return server


def _checked(address: str, place: str) -> str:
    match = _ADDRESS.fullmatch(address)
    if match is None or not 1 <= int(match.group(1)) <= 65535:
        raise Invalid(f"{place}: '{address}': expected HOST:PORT, such as 127.0.0.1:7070")
    return address
