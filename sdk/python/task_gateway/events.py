"""The bytes of an event stream (server-sent events), read as the HTML standard reads them.

It takes every kind of line end, a byte-order mark, and characters and line ends that are cut between two
chunks. An event that no empty line ends never comes, and neither does its id.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from .errors import GatewayConnectionError


@dataclass(frozen=True)
class Event:
    """One event. `last_id` is its id, or the one that the stream had before."""

    type: str
    data: str
    last_id: str


class EventParser:
    """Turns the chunks of one connection into events."""

    def __init__(self, chars_max: int = 64 * 1024 * 1024) -> None:
        self.last_id = ""
        #: The pause that the server asks for, in seconds.
        self.retry_seconds: float | None = None
        self._chars_max = chars_max
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._skipped = "\ufeff"
        self._rest: list[str] = []
        self._data: list[str] = []
        self._chars = 0
        self._type = self._id = ""

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that this chunk completes."""
        text = self._decoder.decode(chunk)
        if not text:
            return []
        if self._skipped and text.startswith(self._skipped):
            text = text[1:]
            if not text:
                self._skipped = ""
                return []
        # A CR ends its line at once; an LF that opens the next chunk belongs to it.
        self._skipped = "\n" if text.endswith("\r") else ""
        lines = re.split(r"\r\n?|\n", text)
        self._chars += len(text)
        events = []
        for line in lines[:-1]:
            self._rest.append(line)
            event = self._read("".join(self._rest))
            self._rest.clear()
            if event:
                events.append(event)
        if lines[-1]:
            self._rest.append(lines[-1])
        if self._chars > self._chars_max:
            raise GatewayConnectionError("event_too_large", "The stream has an event that is too large.")
        return events

    def _read(self, line: str) -> Event | None:
        if line == "":
            return self._dispatch()
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._type = value
        elif name == "id" and "\0" not in value:
            self._id = value
        elif name == "retry" and value.isascii() and value.isdigit():
            self.retry_seconds = int(value) / 1000
        return None

    def _dispatch(self) -> Event | None:
        self.last_id = self._id
        event = Event(self._type or "message", "\n".join(self._data), self.last_id) if self._data else None
        self._data.clear()
        self._type, self._chars = "", 0
        return event
