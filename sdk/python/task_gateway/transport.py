"""How requests are sent: the secret, retries, pauses, and an error of the package for all that goes wrong."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import os
import random
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any, TypedDict, cast

import httpx

from .contract import ProblemDetails
from .errors import ApiError, GatewayConnectionError, GatewayTimeoutError, InvalidOptionError, TaskGatewayError

LOG = logging.getLogger("task_gateway")
ASKED_MAX_SECONDS = 60.0
LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=20)
#: `Client` sets this: it calls a callback in the thread of its caller, not in that of the loop.
RELAY: ContextVar[Callable[..., Awaitable[Any]] | None] = ContextVar("RELAY", default=None)


class ClientOptions(TypedDict, total=False):
    """The options of clients and agents. The environment has `base_url` and `auth` if they are absent."""

    base_url: str | None  #: `TASK_GATEWAY_URL`
    auth: str | Callable[[], str] | None  #: `TASK_GATEWAY_AUTH`, or a function that is called before each attempt
    timeout_seconds: float  #: How long one attempt may take: 30.
    max_retries: int  #: How often a failed attempt is repeated: 4.
    headers: dict[str, str]  #: Sent with every request.
    http: httpx.AsyncClient  #: One of your own, for proxies and certificates.


class Transport:
    """Sends requests to one gateway."""

    def __init__(self, options: ClientOptions) -> None:
        self.base_url = (options.get("base_url") or os.environ.get("TASK_GATEWAY_URL", "")).rstrip("/")
        self._auth = options.get("auth") or os.environ.get("TASK_GATEWAY_AUTH", "")
        if not self.base_url.startswith(("http://", "https://")):
            raise InvalidOptionError("base_url (TASK_GATEWAY_URL) must be an address: http://127.0.0.1:8080.")
        if not self._auth:
            raise InvalidOptionError("auth (TASK_GATEWAY_AUTH) must be the secret of the gateway.")
        self._seconds, self._max_retries = options.get("timeout_seconds", 30.0), options.get("max_retries", 4)
        self._headers = options.get("headers", {})
        self.http = options.get("http") or httpx.AsyncClient(limits=LIMITS)

    async def exchange(
        self, method: str, path: str, fields: Mapping[str, Any], *, max_retries: int | None = None, **request: Any
    ) -> tuple[Any, httpx.Headers]:
        """Makes a call with retries. Returns the value of the response (None for a 204), and its headers.

        The value must have these fields. Every call may be repeated: a submission has its key, and the others
        set a state.
        """
        attempts = 0
        while True:
            attempts += 1
            try:
                response = await self.send(method, path, **request)
                return read_value(response, fields), response.headers
            except (ApiError, GatewayConnectionError, GatewayTimeoutError) as error:
                error.attempts, asked = attempts, asked_seconds(error)
                is_last = attempts > (self._max_retries if max_retries is None else max_retries)
                if is_last or asked > ASKED_MAX_SECONDS or not is_transient(error):
                    raise
                pause = choose_pause(0.5, 8.0, attempts - 1, asked)
                LOG.info("%s %s: %s Again in %.1f s.", method, path, error, pause)
            await asyncio.sleep(pause)

    async def send(
        self, method: str, path: str, *, query: dict[str, str] | None = None, body: dict[str, Any] | None = None,
        headers: Mapping[str, str] | None = None, seconds: float | None = None, held_seconds: float = 0.0,
        is_secret_in_header: bool = False,
    ) -> httpx.Response:
        """Sends a request with one attempt. The body of an event stream is left for the caller to read."""
        secret = self._auth() if callable(self._auth) else self._auth
        sent = {"accept": "application/json", "accept-encoding": "identity", **self._headers, **(headers or {})}
        if body is None or is_secret_in_header:
            sent["authorization"] = f"Bearer {secret}"
        else:
            body = {**body, "auth": secret}
        seconds = (seconds or self._seconds) + held_seconds
        try:
            request = self.http.build_request(
                method, self.base_url + path, params=query, headers=sent, json=body, timeout=seconds
            )
            is_stream = sent["accept"] == "text/event-stream"
            response = await asyncio.wait_for(self.http.send(request, stream=is_stream, follow_redirects=False), seconds)
            if response.status_code != 200:
                await response.aread()
        except Exception as error:
            raise package_error(error, self.base_url, seconds) from error
        if 300 <= response.status_code < 400:
            raise foreign_error("redirected", "redirects, which is not followed")
        if response.status_code >= 400:
            raise read_error(response, secret)
        return response


async def call_back(function: Callable[..., Any], *arguments: Any) -> None:
    """Calls a callback of the program's, which may be a coroutine function."""
    relay = RELAY.get()
    came = await relay(function, *arguments) if relay else function(*arguments)
    if inspect.isawaitable(came):
        await came


def choose_pause(first: float, longest: float, failures: int, asked: float = 0.0) -> float:
    """Returns the seconds before another attempt. They double, and half is random; `asked` is their least."""
    chance = random.random()
    own = min(first * 2.0 ** min(failures, 20), longest)
    return max(own * (0.5 + chance / 2), min(asked, ASKED_MAX_SECONDS) * (1 + chance / 4))


def is_transient(error: BaseException) -> bool:
    """Returns whether a call that failed with this error may succeed a little later."""
    if isinstance(error, ApiError):
        return error.status in (408, 429) or (error.status >= 500 and error.status not in (501, 505))
    return isinstance(error, TaskGatewayError) and error.code in ("connection_failed", "timeout")


def asked_seconds(error: BaseException) -> float:
    """Returns the pause that the gateway asks for with this error."""
    return error.asked_seconds if isinstance(error, ApiError) else 0.0


def foreign_error(code: str, does: str) -> GatewayConnectionError:
    """Returns the error for a response that a gateway would not send."""
    return GatewayConnectionError(code, f"The server at this address {does}. Check base_url (TASK_GATEWAY_URL).")


def package_error(error: Exception, base_url: str, seconds: float) -> TaskGatewayError:
    """Returns the package's error for what httpx raises. The error names neither the path nor the task."""
    if isinstance(error, TaskGatewayError):
        return error
    if isinstance(error, (asyncio.TimeoutError, httpx.TimeoutException)):
        return GatewayTimeoutError(seconds)
    is_wrong = isinstance(error, (httpx.UnsupportedProtocol, httpx.LocalProtocolError))
    if is_wrong or not isinstance(error, (httpx.HTTPError, httpx.StreamError, OSError)):
        return InvalidOptionError(f"The request can't be sent: {error}.")
    why = str(error) or type(error).__name__
    text = f"No response from the gateway at {base_url} ({why}). Is it running?"
    return GatewayConnectionError("connection_failed", text)


def read_value(response: httpx.Response, fields: Mapping[str, Any]) -> Any:
    """Returns the JSON of a success. Raises if one of the fields is absent."""
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
    """Returns the error for an error status, without a secret that the server may repeat."""
    try:
        value: Any = json.loads(response.text.replace(secret, "[secret]"))
    except (ValueError, RecursionError):
        value = None
    texts = ("code", "title", "detail")
    is_problem = isinstance(value, dict) and all(isinstance(value.get(name), str) for name in texts)
    problem = cast(ProblemDetails, value) if is_problem else None
    asked = response.headers.get("retry-after", "").strip()
    seconds = float(asked) if asked.isascii() and asked.isdigit() else 0.0
    return ApiError(response.status_code, problem, response.headers, seconds)
