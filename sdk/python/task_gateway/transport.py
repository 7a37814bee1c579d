"""How requests are sent: the secret, retries, pauses, and an error of the package for all that goes wrong."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import os
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, TypedDict, cast

import httpx

from .contract import ProblemDetails
from .errors import ApiError, GatewayConnectionError, GatewayTimeoutError, InvalidOptionError, TaskGatewayError

LOG = logging.getLogger("task_gateway")
ASKED_MAX_SECONDS = 60.0
LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=20)
#: The fields that a response must have, and their types.
Fields = Mapping[str, Any]


class ClientOptions(TypedDict, total=False):
    """What clients and agents take. Without `base_url` and `auth` the environment has them."""

    base_url: str  #: `TASK_GATEWAY_URL`
    auth: str | Callable[[], Any]  #: `TASK_GATEWAY_AUTH`, or a function that is called for it before each attempt
    timeout_seconds: float  #: How long one attempt may take: 30.
    max_retries: int  #: How often a failed attempt is repeated: 4.
    max_response_bytes: int  #: The largest response that is read: 64 MiB.
    headers: dict[str, str]  #: Sent with every request.
    http: httpx.AsyncClient  #: One of your own, for proxies and certificates.


@dataclass(frozen=True)
class Request:
    """A call of the contract; the gateway may hold it for `held_seconds`."""

    method: str
    path: str
    query: dict[str, str] | None = None
    body: dict[str, Any] | None = None
    headers: dict[str, str] = field(default_factory=dict)
    held_seconds: float = 0.0
    timeout_seconds: float | None = None
    max_retries: int | None = None
    is_secret_in_header: bool = False


class Transport:
    """Sends requests to one gateway."""

    def __init__(self, options: ClientOptions) -> None:
        self.base_url = (options.get("base_url") or os.environ.get("TASK_GATEWAY_URL", "")).rstrip("/")
        if not self.base_url.startswith(("http://", "https://")):
            raise InvalidOptionError("base_url (TASK_GATEWAY_URL) must be an address: http://127.0.0.1:8080.")
        self._auth = options.get("auth") or os.environ.get("TASK_GATEWAY_AUTH", "")
        if not self._auth:
            raise InvalidOptionError("auth (TASK_GATEWAY_AUTH) must be the secret of the gateway.")
        self._timeout_seconds = options.get("timeout_seconds", 30.0)
        self._max_retries = options.get("max_retries", 4)
        self.max_response_bytes = options.get("max_response_bytes", 64 * 1024 * 1024)
        self._headers = options.get("headers", {})
        self.http = options.get("http") or httpx.AsyncClient(limits=LIMITS)

    async def exchange(self, request: Request, fields: Fields) -> tuple[Any, httpx.Headers]:
        """Makes a call with retries. Returns the response's value (None of a 204), and its headers.

        The value must have these fields. Every call may be repeated: a submission has its key, and the others
        set a state.
        """
        retries_max = self._max_retries if request.max_retries is None else request.max_retries
        attempts = 0
        while True:
            attempts += 1
            try:
                response = await self.send(request)
                return read_value(response, fields), response.headers
            except (ApiError, GatewayConnectionError, GatewayTimeoutError) as error:
                asked, is_new = asked_seconds(error), False
                if isinstance(error, ApiError):
                    error.attempts = attempts
                    # A secret that a function gives may have changed meanwhile.
                    is_new = error.status == 401 and callable(self._auth) and attempts == 1
                if attempts > retries_max or asked > ASKED_MAX_SECONDS or not (is_new or is_transient(error)):
                    raise
                pause = 0.0 if is_new else choose_pause(0.5, 8.0, attempts - 1, asked)
                LOG.info("%s %s: %s Again in %.1f s.", request.method, request.path, error, pause)
            await asyncio.sleep(pause)

    async def send(self, request: Request, is_stream: bool = False) -> httpx.Response:
        """Sends a request with one attempt. The body of a stream is left for the caller to read and close."""
        secret = self._auth() if callable(self._auth) else self._auth
        secret = await secret if inspect.isawaitable(secret) else secret
        headers = {"accept": "application/json", "accept-encoding": "identity"}
        headers |= self._headers | request.headers
        body = request.body
        if body is None or request.is_secret_in_header:
            headers["authorization"] = f"Bearer {secret}"
        else:
            body = {**body, "auth": secret}
        seconds = (request.timeout_seconds or self._timeout_seconds) + request.held_seconds
        try:
            sent = self.http.build_request(
                request.method, self.base_url + request.path, params=request.query, headers=headers, timeout=seconds,
                json=body,
            )
            response = await asyncio.wait_for(self._receive(sent, is_stream), seconds)
        except TaskGatewayError:
            raise
        except (asyncio.TimeoutError, httpx.TimeoutException):
            raise GatewayTimeoutError(seconds) from None
        except Exception as error:
            raise connection_error(self.base_url, error) from error
        if 300 <= response.status_code < 400:
            raise foreign_error("redirected", "redirects, which is not followed")
        if response.status_code >= 400:
            raise read_error(response, secret)
        return response

    async def _receive(self, sent: httpx.Request, is_stream: bool) -> httpx.Response:
        response = await self.http.send(sent, stream=True, follow_redirects=False)
        if is_stream and response.status_code == 200:
            return response
        body = bytearray()
        try:
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > self.max_response_bytes:
                    text = f"The response has more than {self.max_response_bytes} bytes (max_response_bytes)."
                    raise GatewayConnectionError("response_too_large", text)
        finally:
            await response.aclose()
        return httpx.Response(response.status_code, headers=response.headers, content=bytes(body))


def choose_pause(first: float, longest: float, failures: int, asked: float = 0.0) -> float:
    """The seconds before another attempt: they double, half is random, and `asked` only makes them longer."""
    chance = random.random()
    own = min(first * 2.0 ** min(failures, 20), longest)
    return max(own * (0.5 + chance / 2), min(asked, ASKED_MAX_SECONDS) * (1 + chance / 4))


def is_transient(error: BaseException) -> bool:
    """Whether what failed so may succeed a little later."""
    if isinstance(error, ApiError):
        return error.status in (408, 429) or (error.status >= 500 and error.status not in (501, 505))
    return isinstance(error, TaskGatewayError) and error.code in ("connection_failed", "timeout")


def asked_seconds(error: BaseException) -> float:
    """The pause that the gateway asks for with this error."""
    return error.asked_seconds if isinstance(error, ApiError) else 0.0


def foreign_error(code: str, does: str) -> GatewayConnectionError:
    """The error for a response that a gateway would not send."""
    return GatewayConnectionError(code, f"The server at this address {does}. Check base_url (TASK_GATEWAY_URL).")


def connection_error(base_url: str, error: Exception) -> TaskGatewayError:
    """The error for one of httpx. It names neither the path nor the task."""
    wrong = (httpx.UnsupportedProtocol, httpx.LocalProtocolError)
    if isinstance(error, (httpx.TransportError, httpx.StreamError, OSError)) and not isinstance(error, wrong):
        why = str(error) or type(error).__name__
        text = f"No response from the gateway at {base_url} ({why}). Is it running?"
        return GatewayConnectionError("connection_failed", text)
    return InvalidOptionError(f"The request can't be sent: {error}.")


def read_value(response: httpx.Response, fields: Fields) -> Any:
    """The JSON of a success, if it has the fields."""
    if response.status_code == 204:
        return None
    try:
        value = json.loads(response.content)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict) and all(isinstance(value.get(name), kind) for name, kind in fields.items()):
        return value
    raise foreign_error("not_a_gateway", "is not a Task Gateway: its response is not valid")


def read_error(response: httpx.Response, secret: str) -> ApiError:
    """The error for an error status. A secret that the server repeats is left out."""
    try:
        value: Any = json.loads(response.text.replace(secret, "[secret]"))
    except (ValueError, RecursionError):
        value = None
    is_problem = isinstance(value, dict) and all(isinstance(value.get(name), str) for name in ("code", "title", "detail"))
    problem = cast(ProblemDetails, value) if is_problem else None
    return ApiError(response.status_code, problem, response.headers, read_retry_after(response.headers))


def read_retry_after(headers: httpx.Headers) -> float:
    """The seconds that `Retry-After` asks for, there as a number or a date; 0 without it."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return 0.0
