"""The gateway's streams, followed over broken connections: each event once and in order."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import httpx

from .errors import ApiError, GatewayConnectionError, GatewayTimeoutError, TaskGatewayError
from .events import EventParser
from .transport import Request, Transport, asked_seconds, choose_pause, connection_error, foreign_error, is_transient

#: Called with `open`, `down` (and the error), and `gap`: older events were removed, so read the tasks.
OnNotice = Callable[[str, "TaskGatewayError | None"], Any]
#: The gateway pings every 15 s: a stream that is silent for longer is opened again.
SILENT_SECONDS = 60.0
#: A connection that lasted as long, or brought an event, was no failure.
LASTING_SECONDS = 5.0


async def follow_stream(
    transport: Transport, request: Request, last_id: str, on_notice: OnNotice | None = None, give_up: float = math.inf
) -> AsyncGenerator[dict[str, Any], None]:
    """Yields the data of each event. Where a connection breaks, it goes on behind the last one, until `give_up`."""
    failures, first, unreadable = 0, 2.0, None
    notice = on_notice or (lambda *_: None)
    while True:
        opened = math.inf
        try:
            headers = {"accept": "text/event-stream"}
            if last_id.isascii() and last_id.isprintable() and last_id:
                headers["last-event-id"] = last_id
            response = await transport.send(replace(request, headers=headers), is_stream=True)
            if response.status_code == 204:
                return
            async with aclosing(response):
                kind = response.headers.get("content-type", "").split(";")[0].strip().lower()
                if kind != "text/event-stream":
                    raise foreign_error("not_an_event_stream", "sends no event stream")
                opened = time.monotonic()
                notice("open", None)
                parser = EventParser(transport.max_response_bytes)
                async for chunk in read_chunks(transport, response):
                    for event in parser.feed(chunk):
                        if event.type == "gap":
                            notice("gap", None)
                            continue
                        try:
                            data = json.loads(event.data)
                        except (ValueError, RecursionError):
                            # It counts as a cut. If it comes so again, it is left out.
                            if unreadable != event.last_id:
                                unreadable = event.last_id
                                raise GatewayConnectionError("connection_failed", "An event is no JSON.") from None
                            data = None
                        failures, last_id = 0, event.last_id or last_id
                        if isinstance(data, dict):
                            yield data
                    last_id = parser.last_id or last_id
                    first = min(max(parser.retry_seconds or first, 0.5), 30.0)
            raise GatewayConnectionError("connection_failed", "The server closed the stream.")
        except (ApiError, GatewayConnectionError, GatewayTimeoutError) as error:
            if not is_transient(error) or time.monotonic() > give_up:
                raise
            failures = 0 if time.monotonic() - opened >= LASTING_SECONDS else failures
            pause = choose_pause(first, 30.0, failures, asked_seconds(error) or first)
            failures += 1
            notice("down", error)
        await asyncio.sleep(pause)


async def read_chunks(transport: Transport, response: httpx.Response) -> AsyncIterator[bytes]:
    """The bytes of a stream, with the package's errors."""
    try:
        async for chunk in response.aiter_bytes():
            yield chunk
    except httpx.TimeoutException:
        raise GatewayTimeoutError(SILENT_SECONDS) from None
    except (httpx.HTTPError, httpx.StreamError, OSError) as error:
        raise connection_error(transport.base_url, error) from error
