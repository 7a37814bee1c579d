"""What an agent says to the person who runs it: a sentence for each thing that one should know."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from .errors import ApiError, TaskGatewayError

SAY_EVERY_SECONDS = 60.0


class Notices:
    """The sentences of one agent, on standard error if nothing else takes them."""

    def __init__(self, base_url: str, take: Callable[[str], None] | None) -> None:
        self._base_url, self._take = base_url, take
        self._said: dict[str, float] = {}
        #: Since when no gateway has answered; `_is_out` says whether a person was told.
        self.since: float | None = None
        self._is_out = self._is_drained = False

    def say(self, text: str, kind: str = "") -> bool:
        """Says a sentence; one of a kind at most once a minute. Returns whether it was said."""
        if kind and time.monotonic() - self._said.get(kind, -SAY_EVERY_SECONDS) < SAY_EVERY_SECONDS:
            return False
        self._said = {**dict(list(self._said.items())[-100:]), kind: time.monotonic()}
        if self._take:
            self._take(text)
        elif os.environ.get("TASK_GATEWAY_LOG") != "off":
            # Escapes what a terminal would obey.
            shown = [one if one.isprintable() or one == "\n" else repr(one)[1:-1] for one in text]
            print("".join(shown), file=sys.stderr, flush=True)
        return True

    def note_failure(self, name: str, error: TaskGatewayError) -> None:
        """Says why a call failed: at an outage once, for all calls."""
        is_proxy = isinstance(error, ApiError) and error.problem is None and error.status in (502, 503, 504)
        if not is_proxy and error.code not in ("connection_failed", "timeout"):
            self.say(f"{name}: {error}", f"{name}: {error}")
        elif name != "unregister":
            self.since = self.since or time.monotonic()
            self._is_out = self.say(f"{error} The agent keeps trying.", "outage") or self._is_out

    def note_response(self, is_first: bool) -> None:
        """Says that the gateway can be used again; the first registration says so itself."""
        if self.since and self._is_out and not is_first:
            seconds = time.monotonic() - self.since
            self.say(f"the gateway at {self._base_url} responds again, after {seconds:.0f} s")
        self.since, self._is_out = None, False

    def note_state(self, state: str | None) -> None:
        """Says that the administrator drains the agent, or has ended that."""
        is_drained = state == "draining"
        if is_drained != self._is_drained and state in ("ready", "processing", "draining"):
            self._is_drained = is_drained
            drained = "drained by the administrator: it finishes its tasks and gets no others"
            self.say(drained if is_drained else "no longer drained by the administrator: it gets tasks again")
