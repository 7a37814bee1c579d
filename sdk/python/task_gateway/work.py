"""One task of an agent: what its handler gets, its output, and its outcome until the gateway has it."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import json
import threading
import traceback
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from itertools import accumulate
from typing import TYPE_CHECKING, Any, cast

from .contract import AnswerSchema, TaskInfo
from .errors import UNWANTED_CODES, InvalidOptionError, TaskGatewayError, WorkStoppedError

if TYPE_CHECKING:
    from .agent import Agent

#: What a handler returns: the result, a text that becomes its `output`, or nothing.
Result = dict[str, Any] | str | None
Handler = Callable[[TaskInfo, "Context"], Result] | Callable[[TaskInfo, "AsyncContext"], Awaitable[Result]]

TEXT_CHARS_MAX, ERROR_CHARS_MAX = 4_096, 4_000
#: The bytes (the gateway takes 64 KiB) and pieces of one call; what is unsent before `write` waits.
CALL_BYTES_MAX, CALL_PIECES_MAX, UNSENT_MAX = 60_000, 100, 1_048_576
#: How long what is written, and a progress, wait for more to send with them; and a claim for an answer.
JOIN_SECONDS, PROGRESS_EVERY_SECONDS, CLAIM_SECONDS = 0.1, 0.2, 20.0


class HandlerContext:
    """The context that a handler gets with its task."""

    reason: WorkStoppedError | None = None  #: Why the handler should stop.

    def __init__(self, run: TaskRun) -> None:
        self._run = run
        #: Set when the handler should stop: `stopped.wait(1)` sleeps for a second, or until then.
        self.stopped = threading.Event()

    def progress(self, percent: float) -> None:
        """Reports the progress, 0 to 100. It never falls."""
        self._start(self._run.report_progress(min(100, max(0, round(percent)))))

    def _start(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(work, self._run.loop)


class Context(HandlerContext):
    """The second argument of a plain function."""

    def write(self, piece: str | dict[str, Any]) -> None:
        """Adds a text, or data, to the task's output. Returns when there is room for more."""
        self._start(self._run.output.write(piece)).result()

    def ask(self, prompt: str, schema: AnswerSchema | None = None, *, key: str | None = None) -> Any:
        """Asks the task's clients. Returns the answer; raises `WorkStoppedError` when it should stop."""
        return self._start(self._run.output.ask(prompt, schema, key)).result()


class AsyncContext(HandlerContext):
    """The second argument of a coroutine function, which is cancelled when it should stop."""

    async def write(self, piece: str | dict[str, Any]) -> None:
        """Adds a text, or data, to the task's output. Returns when there is room for more."""
        await asyncio.wrap_future(self._start(self._run.output.write(piece)))

    async def ask(self, prompt: str, schema: AnswerSchema | None = None, *, key: str | None = None) -> Any:
        """Asks the task's clients. Returns the answer."""
        return await asyncio.wrap_future(self._start(self._run.output.ask(prompt, schema, key)))


class TaskRun:
    """A task of an agent. All of it happens in the agent's loop."""

    def __init__(self, agent: Agent, task: TaskInfo, report: dict[str, Any] | None = None) -> None:
        self.agent, self.task, self.request_id = agent, task, task["request_id"]
        self.loop = asyncio.get_running_loop()
        #: The outcome: this process's, or one that an earlier process left in the outbox.
        self.report, self.is_dropped = report, False
        self.context = AsyncContext(self) if agent.coroutines else Context(self)
        self.output = Output(self)
        self._ended: asyncio.Future[tuple[Any, BaseException | None]] = self.loop.create_future()
        self._handling: asyncio.Task[Any] | None = None
        self._highest = self._told = -1
        self.working = asyncio.ensure_future(self._work())

    async def _work(self) -> None:
        """Runs the handler, and reports its outcome until the gateway has it."""
        try:
            if self.report is None:
                timer = self.loop.call_later(self.task["timeout"], self.stop, "task_timeout", "timeout")
                if self.agent.coroutines:
                    asyncio.run_coroutine_threadsafe(self._run_handler(), self.agent.coroutines)
                else:  # A plain function awaits nothing, so one step runs it.
                    work = functools.partial(next, self._run_handler().__await__(), None)
                    threading.Thread(target=work, name=f"task {self.request_id}", daemon=True).start()
                report = self._read_outcome(*await self._ended)
                timer.cancel()
                if self.is_dropped:
                    return
                self.report = report
                self.agent.outbox.keep(report)
                await self.output.finish()
            await self._deliver(self.report)
        finally:
            del self.agent.runs[self.request_id]

    def end(self, value: Any, error: BaseException | None) -> None:
        """Takes what the handler returns or raises. An agent that stops does not wait for it."""
        if not self._ended.done():
            self._ended.set_result((value, error))

    def stop(self, code: str = "task_cancelled", message: str = "the gateway no longer wants it") -> None:
        """Tells the handler to stop. Unless it is the agent that stops, no outcome is reported."""
        if self.report is not None or self.is_dropped:
            return
        self.context.reason = self.context.reason or WorkStoppedError(code, message)
        if code != "agent_stopped":
            self.is_dropped = True
            self.agent.say(f"task {self.request_id} was dropped: {message}")
        self.context.stopped.set()
        self.output.stop(self.is_dropped)
        if self.agent.coroutines:
            self.agent.coroutines.call_soon_threadsafe(lambda: self._handling and self._handling.cancel())

    async def _deliver(self, report: dict[str, Any]) -> None:
        try:
            if not (await self.agent.call("result", report, is_lasting=True))["accepted"]:
                self.agent.say(f"task {self.request_id} already had an outcome: the report changed nothing")
        except TaskGatewayError as error:
            if error.status == 500:
                self.agent.say(f"task {self.request_id} was left: the gateway fails at its report; see its log")
                return  # The outbox has it for the next start.
            if report["status"] == "success" and error.code not in UNWANTED_CODES:
                return await self._deliver(self._describe_failure(f"the gateway refused the result: {error}"))
        self.agent.outbox.remove(self.request_id)

    def _describe(self, status: str, **more: Any) -> dict[str, Any]:
        return {"request_id": self.request_id, "agent_id": self.agent.agent_id, "status": status, **more}

    def _describe_failure(self, text: str) -> dict[str, Any]:
        return self._describe("failed", error_info=text[:ERROR_CHARS_MAX].encode("utf-8", "replace").decode())

    async def _run_handler(self) -> None:
        """Runs the handler: coroutine functions in their loop, another in a thread of its own."""
        value, error, handler = None, None, cast(Any, self.agent.handler)
        try:
            if self.agent.coroutines:
                self._handling = asyncio.current_task()
                if self.context.reason:
                    raise self.context.reason
                value = await handler(self.task, self.context)
            else:
                value = handler(self.task, self.context)
        except BaseException as raised:
            error = raised
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.end, value, error)

    def _read_outcome(self, value: Any, error: BaseException | None) -> dict[str, Any]:
        try:
            if error:
                raise error
            value = {} if value is None else {"output": value} if isinstance(value, str) else value
            if not isinstance(value, dict):
                kind = type(value).__name__
                raise InvalidOptionError(f"A handler must return a dict, a text or None, and not {kind}.")
            # A copy: later changes do not reach it.
            return self._describe("success", result=json.loads(json.dumps(value, allow_nan=False)))
        except BaseException as wrong:
            if isinstance(wrong, (WorkStoppedError, asyncio.CancelledError)) and self.context.reason:
                return self._describe_failure(str(self.context.reason))
            if not self.is_dropped:
                stack = "".join(traceback.format_exception(wrong)).rstrip()
                self.agent.say(f"task {self.request_id} ({self.task['task_type']}) failed: {wrong!r}\n{stack}")
            return self._describe_failure(f"{type(wrong).__name__}: {wrong}")

    async def report_progress(self, percent: int) -> None:
        """Reports the progress if it has risen. Of many values in a short time it reports the last."""
        is_telling, self._highest = self._highest > self._told, max(self._highest, percent)
        while not is_telling and self._told < self._highest and not self.report and not self.context.reason:
            told = self._highest
            with suppress(TaskGatewayError):
                if not (await self.call("result", self._describe("running", progress=told)))["accepted"]:
                    self.stop()
            await asyncio.sleep(PROGRESS_EVERY_SECONDS)
            self._told = told

    async def call(self, name: str, body: dict[str, Any], *limits: Any) -> Any:
        """Makes a call about the task. It is dropped if the gateway says that the agent no longer has it."""
        try:
            return await self.agent.call(name, body, *limits)
        except TaskGatewayError as error:
            if error.code in UNWANTED_CODES:
                self.stop()
            raise


class Output:
    """What a handler writes and asks: pieces that are sent in order, each kept until the gateway has it."""

    def __init__(self, run: TaskRun) -> None:
        self._run, self._writer, self._stored = run, uuid.uuid4().hex, 0
        self._unsent, self._bytes = list[dict[str, Any]](), 0
        self._is_ending = self._is_closed = False
        self._sending: asyncio.Future[None] = run.loop.create_future()
        self._sending.cancel()
        self._storing = asyncio.Lock()
        self._asked, self._asking = Counter[str](), set[Any]()

    async def write(self, piece: str | dict[str, Any]) -> None:
        """Adds a text or data. Returns when there is room for more, or when nothing more is taken."""
        if isinstance(piece, str):
            text = piece.encode("utf-8", "replace").decode()
            for start in range(0, len(text), TEXT_CHARS_MAX):
                self._add({"text": text[start : start + TEXT_CHARS_MAX]})
        else:
            self._add({"data": json.loads(json.dumps(piece, allow_nan=False))})
        if self._bytes >= UNSENT_MAX:
            await asyncio.wait([self._sending])

    async def ask(self, prompt: str, schema: AnswerSchema | None, key: str | None) -> Any:
        """Asks once everything written before is stored. Returns the answer; raises if it should stop."""
        question: dict[str, Any] = {"prompt": prompt, **({"schema": schema} if schema else {})}
        digest = hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()[:16]
        # A handler that is started again and asks the same in the same order gets the answers that there are.
        self._asked[digest] += 1
        question["key"] = key or f"{digest}-{self._asked[digest]}"
        claim = {"request_id": self._run.request_id, "key": question["key"], "wait": CLAIM_SECONDS}
        self._asking.add(asking := asyncio.current_task())
        try:
            if self._run.context.reason:
                raise self._run.context.reason
            await asyncio.wait([self._sending])
            # Also a question that nobody waits for any more counts as a piece.
            if not await asyncio.shield(self._store([{"question": question}])):
                raise InvalidOptionError("The output of the task has no room for the question.")
            while not (claimed := await self._run.call("answer", claim, CLAIM_SECONDS, True)):
                pass
            return claimed["answer"]
        except (TaskGatewayError, asyncio.CancelledError) as error:
            raise self._run.context.reason or error from None
        finally:
            self._asking.discard(asking)

    async def finish(self) -> None:
        """Sends what is left, until the gateway has it or takes nothing more."""
        self._is_ending = True
        await asyncio.wait([self._sending])

    def stop(self, is_dropped: bool) -> None:
        """Ends the waiting for answers. Of a task that is dropped nothing more is sent."""
        for asking in self._asking:
            asking.cancel()
        if is_dropped:
            self._is_closed = True
            self._sending.cancel()

    def _add(self, piece: dict[str, Any]) -> None:
        if (size := len(json.dumps(piece))) > CALL_BYTES_MAX:
            raise InvalidOptionError(f"A piece of output has at most {CALL_BYTES_MAX} bytes as JSON.")
        if self._is_closed or self._is_ending:
            return
        last = self._unsent[-1] if self._unsent else {}
        if "text" in piece and len(last.get("text", "x" * TEXT_CHARS_MAX)) + len(piece["text"]) <= TEXT_CHARS_MAX:
            last["text"] += piece["text"]
        else:
            self._unsent.append(piece)
        self._bytes += size
        if self._sending.done():
            self._sending = asyncio.ensure_future(self._send())

    async def _send(self) -> None:
        while self._unsent and not self._is_closed:
            if self._bytes < CALL_BYTES_MAX and not self._is_ending:
                await asyncio.sleep(JOIN_SECONDS)
            sizes = accumulate(len(json.dumps(piece)) for piece in self._unsent[:CALL_PIECES_MAX])
            count = sum(size <= CALL_BYTES_MAX for size in sizes)
            pieces, self._unsent = self._unsent[:count], self._unsent[count:]
            try:
                self._is_closed = not await self._store(pieces)
            except TaskGatewayError as error:
                self._is_closed = True
                if not self._run.is_dropped:
                    self._run.agent.say(f"the output of task {self._run.request_id} ends here: {error}")
            self._bytes = sum(len(json.dumps(piece)) for piece in self._unsent)

    async def _store(self, pieces: list[dict[str, Any]]) -> bool:
        """Sends pieces until the gateway has answered. Returns whether it took them: an output has a limit."""
        async with self._storing:
            body = {"request_id": self._run.request_id, "writer": self._writer, "from": self._stored, "pieces": pieces}
            receipt = await self._run.call("output", body, 0.0, True)
            is_accepted = bool(receipt["accepted"])
            self._stored = self._stored + len(pieces) if is_accepted else receipt["next"]
            if not is_accepted and receipt["status"] != "running":
                self._run.stop()
            return is_accepted
