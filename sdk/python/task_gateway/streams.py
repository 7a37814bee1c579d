"""The gateway's streams, followed over broken connections: each event once and in order."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

import httpx

from .errors import ApiError, GatewayConnectionError, GatewayTimeoutError, TaskGatewayError
from .events import EventParser
from .transport import Transport, asked_seconds, call_back, choose_pause, foreign_error, is_transient, package_error

#: Called with `open`, `down` (and the error), and `gap`: older events were removed, so read the tasks.
OnNotice = Callable[[str, "TaskGatewayError | None"], Any]
#: The gateway pings every 15 s: a stream that is silent for longer is opened again.
SILENT_SECONDS = 60.0
#: A connection that lasted as long, or brought an event, was no failure.
LASTING_SECONDS = 5.0


async def follow_stream(
    transport: Transport, path: str, query: dict[str, str] | None, last_id: str, on_notice: OnNotice | None,
    give_up: float = math.inf,
) -> AsyncGenerator[dict[str, Any], None]:
    """Yields the data of each event. Goes on behind the last one when a connection breaks, until `give_up`."""
    failures, first, unreadable = 0, 2.0, ""
    notice = on_notice or (lambda *_: None)
    while True:
        opened = math.inf
        resumed = {"last-event-id": last_id} if last_id.isascii() and last_id.isprintable() and last_id else {}
        headers = {"accept": "text/event-stream", **resumed}
        try:
            response = await transport.send("GET", path, query=query, headers=headers, seconds=SILENT_SECONDS)
            if response.status_code == 204:
                return
            async with aclosing(response):
                if response.headers.get("content-type", "").split(";")[0].strip().lower() != "text/event-stream":
                    raise foreign_error("not_an_event_stream", "sends no event stream")
                opened = time.monotonic()
                await call_back(notice, "open", None)
                parser = EventParser()
                async for chunk in response.aiter_bytes():
                    for event in parser.feed(chunk):
                        try:
                            data = json.loads(event.data)
                        except (ValueError, RecursionError):
                            data = None
                            # Such an event counts as a cut. If it comes again, it is left out.
                            if unreadable != (unreadable := event.last_id + event.data):
                                raise httpx.ReadError("an event is no JSON") from None
                        failures, last_id = 0, event.last_id or last_id
                        if event.type == "gap":
                            await call_back(notice, "gap", None)
                        elif isinstance(data, dict):
                            yield data
                    last_id = parser.last_id or last_id
                    first = min(max(parser.retry_seconds or first, 0.5), 30.0)
            raise httpx.ReadError("it closed the stream")
        except (ApiError, GatewayConnectionError, GatewayTimeoutError, httpx.HTTPError, httpx.StreamError) as raised:
            error = package_error(raised, transport.base_url, SILENT_SECONDS)
            if not is_transient(error) or time.monotonic() > give_up:
                raise error from raised
            failures = 0 if time.monotonic() - opened >= LASTING_SECONDS else failures
            pause = choose_pause(first, 30.0, failures, asked_seconds(error) or first)
            failures += 1
            await call_back(notice, "down", error)
        await asyncio.sleep(pause)
