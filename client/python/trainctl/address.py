"""Which coordinator is meant: the rule of client/server_address.h and client/main.cc."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import re
from typing import Any

from .errors import Invalid, Unreachable

SYSTEMD_FILE = "/run/trainctl/coordinator.addr"
_ADDRESS = re.compile(r"(?:[^:]+|\[.*\]):(\d+)", re.ASCII)


@dataclasses.dataclass(frozen=True)
class Address:
    """Of a coordinator: of one with a context by TLS, with the files that this needs."""

    text: str
    context: str = ""
    ca: str = ""
    token_file: str = ""

    def arguments(self) -> list[str]:
        """By which the program trainctl means the same."""
        return ["--context", self.context] if self.context else ["--server", self.text]


def resolve(server: str | None, context: str | None = None) -> Address:
    """The first that names one. Raises Unreachable where none does, Invalid where it names none."""
    if server and context:
        raise Invalid("server and context: expected one of them")
    configuration = _configuration_file()
    if context:
        return _context(configuration, context, "context")
    if server:
        return Address(_checked(server, "server"))
    if named := os.environ.get("TRAINCTL_SERVER"):
        return Address(_checked(named, "TRAINCTL_SERVER"))
    if named := os.environ.get("TRAINCTL_CONTEXT"):
        return _context(configuration, named, "TRAINCTL_CONTEXT")
    if configuration:
        document = _configured(configuration)
        if named := document.get("context"):
            return _context(configuration, named, str(configuration))
        if named := document.get("server"):
            return Address(_checked(named, str(configuration)))
    for path in _address_files():
        try:
            text = path.read_text(encoding="utf-8")
        except OSError:
            continue
        if text:
            return Address(_checked(text.split("\n", 1)[0], str(path)))
    raise Unreachable(
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


def _configured(path: pathlib.Path) -> dict[str, Any]:
    """Of the file what is used here, once its form is checked."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise Invalid(f"{path}: {error.strerror}") from None
    except ValueError:
        document = None
    if not isinstance(document, dict) or not _is_configuration(document):
        raise Invalid(
            f'{path}: expected a JSON object such as {{"server": "host:7070"}}, or with sites as '
            "trainctl context add writes them; correct or remove the file"
        )
    return document


def _is_configuration(document: dict[str, Any]) -> bool:
    contexts = document.get("contexts", {})
    texts = [document.get("server", ""), document.get("context", "")]
    if not isinstance(contexts, dict):
        return False
    for site in contexts.values():
        if not isinstance(site, dict):
            return False
        texts += [site.get(key, "") for key in ("address", "ca", "token_file")]
    return all(isinstance(text, str) for text in texts)


def _context(configuration: pathlib.Path | None, name: str, place: str) -> Address:
    contexts = _configured(configuration).get("contexts", {}) if configuration else {}
    if name not in contexts:
        known = ", ".join(sorted(contexts)) or "one that trainctl context add has made"
        raise Invalid(f"{place}: no context '{name}': expected {known}")
    site = contexts[name]
    address = _checked(site.get("address", ""), f"{place}: context {name}")
    if not site.get("ca") or not site.get("token_file"):
        raise Invalid(
            f'{place}: context {name}: "ca" and "token_file" must name files, for it is reached '
            "with TLS: trainctl context add writes them"
        )
    return Address(address, name, site["ca"], site["token_file"])


def _checked(address: str, place: str) -> str:
    match = _ADDRESS.fullmatch(address)
    if match is None or not 1 <= int(match.group(1)) <= 65535:
        raise Invalid(f"{place}: '{address}': expected HOST:PORT, such as 127.0.0.1:7070")
    return address
