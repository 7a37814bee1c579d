"""How requests are sent and streams are followed: the secret, retries, pauses, errors."""

from __future__ import annotations

import asyncio
import codecs
import inspect
import os
import random
import re
import time
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Mapping
from contextlib import aclosing
from contextvars import ContextVar
from queue import SimpleQueue
from typing import Any, TypedDict

import httpx

from .errors import ApiError, GatewayConnectionError, GatewayTimeoutError, InvalidOptionError, TaskGatewayError
from .errors import read_json

ASKED_MAX_SECONDS = 60.0
#: Called with `open`, `down` (and the error), and `gap`: older events were removed, so read the tasks.
OnNotice = Callable[[str, "TaskGatewayError | None"], Any]
#: The gateway pings every 15 s: a stream that is silent for longer is opened again.
SILENT_SECONDS = 60.0
FOREIGN = "The server at this address {}. Check base_url (TASK_GATEWAY_URL)."
#: The callbacks that the caller of a `Client` calls while it waits, until None says that the work is done.
CALLS: ContextVar[SimpleQueue[Callable[[], object] | None] | None] = ContextVar("CALLS", default=None)


class ClientOptions(TypedDict, total=False):
    """The options of clients and agents. The environment has `base_url` and `auth` if they are absent."""

    base_url: str | None  #: `TASK_GATEWAY_URL`
    auth: str | Callable[[], str] | None  #: `TASK_GATEWAY_AUTH`, or a function, called before each attempt
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
        self._headers = {"accept": "application/json", "accept-encoding": "identity", **options.get("headers", {})}
        self.http = options.get("http") or httpx.AsyncClient(limits=httpx.Limits(max_connections=None))

    async def exchange(
        self, method: str, path: str, fields: Mapping[str, Any], max_retries: int | None = None,
        give_up: float | None = None, **request: Any,
    ) -> tuple[Any, httpx.Headers]:
        """Makes a call with retries, until `give_up` if given. Returns a value with these fields, and headers."""
        retries, failures = self._max_retries if max_retries is None else max_retries, 0
        while True:
            try:
                response = await self.send(method, path, **request)
                value = None if response.status_code == 204 else read_json(response.content)
                is_valid = isinstance(value, dict) and all(isinstance(value.get(one), fields[one]) for one in fields)
                if response.status_code == 204 or is_valid:
                    return value, response.headers
                raise GatewayConnectionError("not_a_gateway", FOREIGN.format("sends what no Task Gateway sends"))
            except TaskGatewayError as error:
                failures, error.attempts = failures + 1, failures + 1
                is_outage = error.is_transient or (give_up and isinstance(error, GatewayConnectionError))
                is_last = time.monotonic() > give_up if give_up else failures > retries
                if is_last or not is_outage or error.asked_seconds > ASKED_MAX_SECONDS:
                    raise
                pause = choose_pause(0.5, 8.0, failures - 1, error.asked_seconds)
            await asyncio.sleep(pause)

    async def send(
        self, method: str, path: str, *, query: dict[str, str] | None = None, body: dict[str, Any] | None = None,
        headers: Mapping[str, str] | None = None, seconds: float | None = None, held_seconds: float = 0.0,
    ) -> httpx.Response:
        """Sends a request with one attempt. The body of an event stream is left for the caller to read."""
        secret = self._auth() if callable(self._auth) else self._auth
        sent = {**self._headers, **(headers or {}), "authorization": f"Bearer {secret}"}
        body = None if body is None else {**body, "auth": secret}
        url, seconds = self.base_url + path, (seconds or self._seconds) + held_seconds
        try:
            request = self.http.build_request(method, url, params=query, headers=sent, json=body, timeout=seconds)
            sending = self.http.send(request, stream=sent["accept"] == "text/event-stream", follow_redirects=False)
            response = await asyncio.wait_for(sending, seconds)
            if response.status_code != 200:
                await response.aread()
        except Exception as error:
            raise package_error(error, self.base_url, seconds) from error
        if 300 <= response.status_code < 400:
            raise GatewayConnectionError("redirected", FOREIGN.format("redirects, which is not followed"))
        if response.status_code >= 400:
            raise ApiError(response, secret)
        return response


async def call_back(function: Callable[..., Any] | None, *arguments: Any) -> None:
    """Calls a callback, which may be a coroutine function; for a `Client` in its caller's thread."""
    if function is None:
        return
    if calls := CALLS.get():
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        calls.put(lambda: (function(*arguments), loop.call_soon_threadsafe(done.set_result, None)))
        await done
    elif inspect.isawaitable(came := function(*arguments)):
        await came


def choose_pause(first: float, longest: float, failures: int, asked: float = 0.0) -> float:
    """Returns the seconds before another attempt. They double, and half is random; `asked` is their least."""
    chance, own = random.random(), min(first * 2.0 ** min(failures, 20), longest)
    return max(own * (0.5 + chance / 2), min(asked, ASKED_MAX_SECONDS) * (1 + chance / 4))


def package_error(error: Exception, base_url: str, seconds: float) -> TaskGatewayError:
    """Returns the package's error for what httpx raises. The error names neither the path nor the task."""
    if isinstance(error, TaskGatewayError):
        return error
    if isinstance(error, (asyncio.TimeoutError, httpx.TimeoutException)):
        return GatewayTimeoutError("timeout", f"No response within {seconds:g} s (timeout_seconds).")
    is_wrong = isinstance(error, (httpx.UnsupportedProtocol, httpx.LocalProtocolError))
    if is_wrong or not isinstance(error, (httpx.HTTPError, httpx.StreamError, OSError)):
        return InvalidOptionError(f"The request can't be sent: {error}.")
    text = f"No response from the gateway at {base_url} ({str(error) or type(error).__name__}). Is it running?"
    return GatewayConnectionError("connection_failed", text)


async def read_events(chunks: AsyncIterable[bytes]) -> AsyncGenerator[tuple[str, str | None, str, float | None], None]:
    """Yields the events of one connection, as the HTML standard says: type, data, latest id, asked pause."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    rest, fields, data, last_id, retry, is_behind_cr = [""], dict[str, str](), list[str](), "", None, False
    async for chunk in chunks:
        if not (text := decoder.decode(chunk)):
            continue
        # A chunk may end anywhere, also between CR and LF.
        first, *lines = re.split(r"\r\n?|\n", text.removeprefix("\n") if is_behind_cr else text)
        is_behind_cr = text.endswith("\r")
        rest.append(first)
        for next_line in lines:
            line, rest = "".join(rest), [next_line]
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if line == "":
                last_id = fields.get("id", last_id)
                yield fields.get("event") or "message", "\n".join(data) if data else None, last_id, retry
                fields, data = {}, []
            elif name == "data":
                data.append(value)
            elif name == "event" or (name == "id" and "\0" not in value):
                fields[name] = value
            elif name == "retry" and value.isascii() and value.isdigit():
                retry = int(value) / 1000


async def follow_stream(
    transport: Transport, path: str, query: dict[str, str] | None, last_id: str, on_notice: OnNotice | None,
    is_over: Callable[[], Awaitable[bool]] | None = None,
) -> AsyncGenerator[dict[str, Any], None]:
    """Yields the data of each event, of pieces of output each once, and goes on when a connection breaks.

    With `is_over`, which is asked after each failure, it tries once more when that is true, and raises nothing.
    """
    failures, first, unreadable, is_last = 0, 2.0, "", False
    last_n = int(last_id) if last_id.isascii() and last_id.isdigit() else 0
    while True:
        resumed = {"last-event-id": last_id} if last_id.isascii() and last_id.isprintable() and last_id else {}
        headers = {"accept": "text/event-stream", **resumed}
        try:
            response = await transport.send("GET", path, query=query, headers=headers, seconds=SILENT_SECONDS)
            if response.status_code == 204:
                return
            async with aclosing(response), aclosing(read_events(response.aiter_bytes())) as events:
                if response.headers.get("content-type", "").split(";")[0].strip().lower() != "text/event-stream":
                    raise GatewayConnectionError("not_an_event_stream", FOREIGN.format("sends no event stream"))
                failures = 0
                await call_back(on_notice, "open", None)
                async for kind, text, event_id, retry_seconds in events:
                    first = min(max(retry_seconds or first, 0.5), 30.0)
                    data = read_json(text or "{}")
                    # An event that is no JSON counts as a cut. If it comes again, it is left out.
                    if data is None and unreadable != (unreadable := f"{event_id} {text}"):
                        raise httpx.ReadError("an event is no JSON")
                    last_id = event_id or last_id
                    if kind == "gap":
                        await call_back(on_notice, "gap", None)
                    elif isinstance(data, dict) and data and data.get("n", last_n + 1) > last_n:
                        last_n = data.get("n", last_n)
                        yield data
                        if data.get("end"):
                            return
            raise httpx.ReadError("it closed the stream")
        except (TaskGatewayError, httpx.HTTPError, httpx.StreamError) as raised:
            error = package_error(raised, transport.base_url, SILENT_SECONDS)
            if is_over and (is_last or not error.is_transient):
                return
            if not error.is_transient:
                raise error from raised
        pause = choose_pause(first, 30.0, failures, error.asked_seconds or first)
        failures += 1
        await call_back(on_notice, "down", error)
        is_last = bool(is_over and await is_over())
        await asyncio.sleep(0.0 if is_last else pause)
