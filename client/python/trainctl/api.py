"""The coordinator's methods over gRPC. What goes wrong is an exception of this package."""

from __future__ import annotations

import os
import pathlib
import time
from collections.abc import Iterator
from typing import TypeVar

import grpc
from google.protobuf.message import Message

from .address import Address
from .errors import Denied, Error, Invalid, NotFound, Unreachable
from .listener import on_loopback
from .proto import trainctl_pb2 as pb
from .relay import Relay

Response = TypeVar("Response", bound=Message)

CALL_SECONDS = 30.0
WATCH_SECONDS = 60.0
RETRY_SECONDS = 2.0
_MAX_TOKEN_BYTES = 64 << 10
PATIENCE_SECONDS = 600.0  # of who follows something: the coordinator may be restarting
_RETRY_AFTER = "trainctl-retry-after-ms"
_LONGEST_WAIT_SECONDS = 10.0  # in all, of who calls too often
_SHORTEST_WAIT_SECONDS = 0.02

_OPTIONS = [
    ("grpc.max_receive_message_length", 64 << 20),
    ("grpc.enable_http_proxy", 0),  # a site's coordinator is never behind the proxy of the web
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 2000),
    ("grpc.keepalive_time_ms", 3_000),  # then a ping; no answer to it: it is gone, or stopped
    ("grpc.keepalive_timeout_ms", 3_000),
    ("grpc.http2.max_pings_without_data", 0),
]
_EXCEPTIONS: dict[grpc.StatusCode, type[Error]] = {
    grpc.StatusCode.INVALID_ARGUMENT: Invalid,
    grpc.StatusCode.FAILED_PRECONDITION: Invalid,
    grpc.StatusCode.NOT_FOUND: NotFound,
    grpc.StatusCode.PERMISSION_DENIED: Denied,
    grpc.StatusCode.UNAVAILABLE: Unreachable,
    grpc.StatusCode.DEADLINE_EXCEEDED: Unreachable,
}


class Api:
    """One connection. Its methods may be called from any thread."""

    def __init__(self, address: Address) -> None:
        self.server = address.text
        self._relay: Relay | None = None
        if address.context:
            self._channel = grpc.secure_channel(
                self.server, _credentials_of(address), options=_OPTIONS
            )
            return
        listener = on_loopback(self.server)
        if listener is None:
            raise Denied(
                f"{self.server} is not on this host: over the network a coordinator is reached by "
                "TLS, with its CA and a token (trainctl context add --help), or through an SSH "
                "tunnel"
            )
        self._relay = Relay(listener)
        self._channel = grpc.insecure_channel(self._relay.target, options=_OPTIONS)

    def list(self, request: pb.ListRequest) -> pb.ListResponse:
        return self._call("List", request, pb.ListResponse)

    def get(self, job: str) -> pb.GetResponse:
        return self._call("Get", pb.GetRequest(job=job), pb.GetResponse)

    def cancel(self, job: str) -> pb.CancelResponse:
        return self._call("Cancel", pb.CancelRequest(jobs=[job]), pb.CancelResponse)

    def compare(self, request: pb.CompareRequest) -> pb.CompareResponse:
        return self._call("Compare", request, pb.CompareResponse)

    def workers(self) -> pb.WorkersResponse:
        return self._call("Workers", pb.WorkersRequest(), pb.WorkersResponse)

    def metrics(self, request: pb.MetricsRequest) -> Iterator[pb.MetricsResponse]:
        return self._read("Metrics", request, pb.MetricsResponse)

    def logs(self, request: pb.LogsRequest) -> Iterator[pb.LogChunk]:
        return self._read("Logs", request, pb.LogChunk)

    def watch(self, job: str, seconds: float | None) -> Iterator[pb.JobView]:
        """Views of the job, or of the group's jobs, until all have ended or the time is over.

        Once the coordinator has answered, its silence is borne for PATIENCE_SECONDS.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        last_heard: float | None = None
        patience = _RatePatience()
        while True:
            left = WATCH_SECONDS if deadline is None else deadline - time.monotonic()
            if left <= 0:
                return
            request = pb.WatchRequest(jobs=[job])
            call = self._stream("Watch", pb.WatchRequest, pb.JobView)(
                request, timeout=min(WATCH_SECONDS, left)
            )
            heard = False
            try:
                for view in call:
                    heard, last_heard = True, time.monotonic()
                    yield view
                return
            except grpc.RpcError as error:
                # Nothing heard in a whole period is a dead connection; else its end is no error.
                if heard and error.code() == grpc.StatusCode.DEADLINE_EXCEEDED:
                    continue
                if patience.waits_as_asked(error):
                    continue
                said = self._error(error)
                if not isinstance(said, Unreachable) or not _bears(last_heard):
                    raise said from None
                time.sleep(min(RETRY_SECONDS, left))
            finally:
                call.cancel()

    def _call(self, method: str, request: Message, response: type[Response]) -> Response:
        call = self._channel.unary_unary(
            _path(method), type(request).SerializeToString, response.FromString
        )
        patience = _RatePatience()
        while True:
            try:
                return call(request, timeout=CALL_SECONDS)
            except grpc.RpcError as error:
                if not patience.waits_as_asked(error):
                    raise self._error(error) from None

    def _stream(
        self, method: str, request: type[Message], response: type[Response]
    ) -> grpc.UnaryStreamMultiCallable[Message, Response]:
        return self._channel.unary_stream(
            _path(method), request.SerializeToString, response.FromString
        )

    def _read(self, method: str, request: Message, response: type[Response]) -> Iterator[Response]:
        patience = _RatePatience()
        while True:
            try:
                yield from self._stream(method, type(request), response)(request)
                return
            except grpc.RpcError as error:
                if not patience.waits_as_asked(error):
                    raise self._error(error) from None

    def _error(self, error: grpc.RpcError) -> Error:
        kind = _EXCEPTIONS.get(error.code(), Error)
        if kind is not Unreachable:
            return kind(error.details())
        fault = self._relay.fault() if self._relay else None
        if isinstance(fault, Denied):
            return fault
        return Unreachable(
            f"no answer from the coordinator at {self.server}: {fault or error.details()}. Is it "
            "running there (trainctl local status, systemctl status traincoordinator)?"
        )


class _RatePatience:
    """Waits as the coordinator asks who calls too often: nothing of such a call was done."""

    def __init__(self) -> None:
        self._left = _LONGEST_WAIT_SECONDS

    def waits_as_asked(self, error: grpc.RpcError) -> bool:
        asked = dict(error.trailing_metadata() or ()).get(_RETRY_AFTER, "")
        if not asked.isdecimal() or int(asked) / 1000 > self._left:
            return False
        wait = max(_SHORTEST_WAIT_SECONDS, int(asked) / 1000)
        self._left -= wait
        time.sleep(wait)
        return True


def _credentials_of(address: Address) -> grpc.ChannelCredentials:
    """Of a site with TLS: its authority's certificate, and the token with each call."""
    try:
        authority = pathlib.Path(address.ca).read_bytes()
        with pathlib.Path(address.token_file).open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            token = file.read(_MAX_TOKEN_BYTES).strip()
    except OSError as error:
        raise Invalid(f"context {address.context}: {error.filename}: {error.strerror}") from None
    if mode & 0o077:
        raise Denied(
            f"context {address.context}: {address.token_file} holds a secret and is open to other "
            f"users: chmod 600 {address.token_file}"
        )
    if b"-----BEGIN CERTIFICATE-----" not in authority:  # gRPC may take the system's authorities
        raise Invalid(
            f"context {address.context}: {address.ca} holds no certificate: expected the site's "
            "ca.pem"
        )
    if not token or not all(ord(" ") < byte <= ord("~") for byte in token):
        raise Invalid(
            f"context {address.context}: {address.token_file} holds no token: expected one word of "
            "visible ASCII characters"
        )
    return grpc.composite_channel_credentials(
        grpc.ssl_channel_credentials(authority),
        grpc.access_token_call_credentials(token.decode("ascii")),
    )


def _path(method: str) -> str:
    service = pb.DESCRIPTOR.services_by_name["Coordinator"]
    return f"/{service.full_name}/{service.methods_by_name[method].name}"


def _bears(last_heard: float | None) -> bool:
    return last_heard is not None and time.monotonic() - last_heard < PATIENCE_SECONDS
