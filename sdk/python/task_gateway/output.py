"""What a handler writes and asks: pieces that are sent in order, each kept until the gateway has it."""

from __future__ import annotations

import asyncio
import hashlib
import json
import uuid
from collections import Counter
from typing import TYPE_CHECKING, Any

from .contract import AnswerSchema
from .errors import UNWANTED_CODES, ApiError, InvalidOptionError, TaskGatewayError

if TYPE_CHECKING:
    from .work import TaskRun

TEXT_CHARS_MAX = 4_096
#: The bytes and pieces of one call. The gateway takes 64 KiB.
CALL_BYTES_MAX, CALL_PIECES_MAX = 60_000, 100
#: How many bytes may be unsent before `write` waits.
UNSENT_MAX = 1_048_576
#: How long a text waits for a further text that joins it.
JOIN_SECONDS = 0.1
CLAIM_SECONDS = 20.0


class Output:
    """The output of one task. All of it happens in the agent's loop."""

    def __init__(self, run: TaskRun) -> None:
        self._run = run
        self._writer, self._stored = uuid.uuid4().hex, 0
        #: The pieces that the gateway has not stored yet. `ask` waits for the future beside a question.
        self._unsent: list[tuple[dict[str, Any], asyncio.Future[None] | None]] = []
        self._bytes = 0
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._is_ending = self._is_closed = self._is_full = False
        self._sending: asyncio.Future[None] | None = None
        self._asked: Counter[str] = Counter()

    async def write(self, piece: str | dict[str, Any]) -> None:
        """Adds a text or data. Returns when there is room for more, or when nothing more is taken."""
        if isinstance(piece, str):
            text = piece.encode("utf-8", "replace").decode()
            for start in range(0, len(text), TEXT_CHARS_MAX):
                self._add({"text": text[start : start + TEXT_CHARS_MAX]})
        else:
            self._add({"data": json.loads(json.dumps(piece, allow_nan=False))})
        if not self._run.stopped.is_set():
            await self._has_room.wait()

    async def ask(self, prompt: str, schema: AnswerSchema | None, key: str | None) -> Any:
        """Adds a question, and returns its answer when there is one. Raises if it is refused."""
        question: dict[str, Any] = {"prompt": prompt, **({"schema": schema} if schema else {})}
        digest = hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()[:16]
        # A handler that is started again and asks the same in the same order gets the answers that there are.
        self._asked[digest] += 1
        question["key"] = key or f"{digest}-{self._asked[digest]}"
        stored: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._add({"question": question}, stored)
        await stored
        claim = {"request_id": self._run.request_id, "key": question["key"], "wait": CLAIM_SECONDS}
        while True:
            claimed = await self._run.agent.persist("answer", claim, 0.5, 10.0, held_seconds=CLAIM_SECONDS)
            if claimed:
                return claimed["answer"]

    async def finish(self) -> None:
        """Sends what is left, until the gateway has it or takes nothing more."""
        self._is_ending = True
        if self._sending:
            await asyncio.wait([self._sending])

    def close(self, is_dropped: bool) -> None:
        """Lets the handler go on. Sends nothing more if the task is dropped."""
        self._has_room.set()
        self._is_closed = self._is_closed or is_dropped
        if self._sending and is_dropped:
            self._sending.cancel()

    def _add(self, piece: dict[str, Any], stored: asyncio.Future[None] | None = None) -> None:
        if (size := size_of(piece)) > CALL_BYTES_MAX:
            raise InvalidOptionError(f"A piece of output, or a question, has at most {CALL_BYTES_MAX} bytes as JSON.")
        if self._is_closed or self._is_ending or (self._is_full and not stored):
            return
        last = self._unsent[-1][0] if self._unsent else {}
        if "text" in piece and len(last.get("text", "x" * TEXT_CHARS_MAX)) + len(piece["text"]) <= TEXT_CHARS_MAX:
            last["text"] += piece["text"]
        else:
            self._unsent.append((piece, stored))
        self._bytes += size
        if self._bytes >= UNSENT_MAX:
            self._has_room.clear()
        if self._sending is None or self._sending.done():
            self._sending = asyncio.ensure_future(self._send())

    async def _send(self) -> None:
        while self._unsent and not self._is_closed:
            if len(self._unsent) == 1 and "text" in self._unsent[0][0] and not self._is_ending:
                await asyncio.sleep(JOIN_SECONDS)
            batch = self._take_batch()
            refused: TaskGatewayError | None = None
            body = {"request_id": self._run.request_id, "writer": self._writer, "from": self._stored}
            body["pieces"] = [piece for piece, _ in batch]
            try:
                receipt = await self._run.agent.persist("output", body, 0.5, 8.0, lambda: self._is_ending)
                if receipt["accepted"]:
                    self._stored += len(batch)
                elif receipt["status"] == "running":
                    # The output has reached its limit, and the gateway takes questions alone.
                    self._stored, self._is_full = receipt["next"], True
                    self._unsent = [(piece, stored) for piece, stored in self._unsent if stored]
                    refused = InvalidOptionError("The output of the task has no room for the question.")
                else:
                    return self._run.drop()
            except TaskGatewayError as error:
                if error.code in UNWANTED_CODES:
                    return self._run.drop()
                refused = error
                is_replaced = isinstance(error, ApiError) and any(one["pointer"] == "/from" for one in error.errors)
                if is_replaced or not batch[0][1]:
                    self._run.agent.say(f"the output of task {self._run.request_id} ends here: {error}")
                    self._is_closed = True
                    batch += self._unsent
            for _, stored in batch:
                if stored and not stored.done():
                    stored.set_exception(refused) if refused else stored.set_result(None)
            self._bytes = sum(size_of(piece) for piece, _ in self._unsent)
            if self._is_closed or self._bytes < UNSENT_MAX:
                self._has_room.set()

    def _take_batch(self) -> list[tuple[dict[str, Any], asyncio.Future[None] | None]]:
        """Takes what fits in one call. A question gets a call of its own: its refusal refuses nothing else."""
        count = size = 0
        for piece, stored in self._unsent[:CALL_PIECES_MAX]:
            size += size_of(piece)
            if count and (stored or self._unsent[0][1] or size > CALL_BYTES_MAX):
                break
            count += 1
        batch, self._unsent = self._unsent[:count], self._unsent[count:]
        return batch


def size_of(piece: dict[str, Any]) -> int:
    """Returns the bytes of a piece as JSON."""
    return len(json.dumps(piece).encode())
