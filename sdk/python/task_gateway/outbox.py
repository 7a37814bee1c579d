"""The outcomes that the gateway does not have yet, kept over a crash of the agent and a power cut."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from typing import Any

from .errors import InvalidOptionError


class Outbox:
    """The outcomes of one agent, in an SQLite file that one process at a time uses, or in memory."""

    def __init__(self, path: str | None, say: Callable[[str], Any]) -> None:
        self._path, self._say = path, say
        self._db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)

    def open(self) -> list[dict[str, Any]]:
        """Opens the file, and returns the outcomes that an earlier process left in it."""
        try:
            if self._path:
                # Only the owner can read the file.
                os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
                self._db = sqlite3.connect(self._path, isolation_level=None, timeout=0)
            self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.execute("BEGIN EXCLUSIVE")
            self._db.execute("CREATE TABLE IF NOT EXISTS kept (request_id TEXT PRIMARY KEY, report TEXT)")
            self._db.execute("COMMIT")
            return [json.loads(report) for (report,) in self._db.execute("SELECT report FROM kept")]
        except (sqlite3.Error, OSError, ValueError) as error:
            text = f"The outbox {self._path} can't be used: {error}. Each agent needs a file of its own."
            raise InvalidOptionError(text) from error

    def keep(self, report: dict[str, Any]) -> None:
        """Keeps an outcome; it is on disk when this returns."""
        self._write("INSERT OR REPLACE INTO kept VALUES (?, ?)", report["request_id"], json.dumps(report))

    def remove(self, request_id: str) -> None:
        """Removes an outcome."""
        self._write("DELETE FROM kept WHERE request_id = ?", request_id)

    def close(self) -> None:
        """Closes the file."""
        self._db.close()

    def _write(self, statement: str, *values: str) -> None:
        try:
            self._db.execute(statement, values)
        except sqlite3.Error as error:
            self._say(f"the outbox {self._path} can't be written: {error}")
