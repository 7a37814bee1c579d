"""The bytes of an event stream (server-sent events), read as the HTML standard reads them.

An event that no empty line ends never comes, and neither does its id: a reader resumes before it.
"""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple


class Event(NamedTuple):
    """One event. `last_id` is its id, or the one that the stream had before."""

    type: str
    data: str
    last_id: str


class EventParser:
    """Turns the chunks of one connection into events. A chunk may end anywhere, also within a character."""

    def __init__(self) -> None:
        self.last_id = ""
        #: The pause that the server asks for, in seconds.
        self.retry_seconds: float | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._skipped = "\ufeff"
        self._rest: list[str] = []
        self._fields: dict[str, str] = {}
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> list[Event]:
        """Returns the events that this chunk completes."""
        text = self._decoder.decode(chunk)
        if not text:
            return []
        # A byte-order mark is skipped, and so is an LF behind the CR that the chunk before ended with.
        text = text.removeprefix(self._skipped) if self._skipped else text
        self._skipped = "\n" if text.endswith("\r") else ""
        first, *lines = re.split(r"\r\n?|\n", text)
        self._rest.append(first)
        events = []
        for line in lines:
            events += self._read("".join(self._rest))
            self._rest = [line]
        return events

    def _read(self, line: str) -> list[Event]:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if line == "":
            return self._dispatch()
        if name == "data":
            self._data.append(value)
        elif name == "event" or (name == "id" and "\0" not in value):
            self._fields[name] = value
        elif name == "retry" and value.isascii() and value.isdigit():
            self.retry_seconds = int(value) / 1000
        return []

    def _dispatch(self) -> list[Event]:
        self.last_id = self._fields.get("id", self.last_id)
        event = Event(self._fields.get("event") or "message", "\n".join(self._data), self.last_id)
        has_data = bool(self._data)
        self._fields, self._data = {}, []
        return [event] if has_data else []
