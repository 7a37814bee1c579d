"""One task of an agent: its handler, what the handler writes and asks, and its outcome."""

from __future__ import annotations

import asyncio
import json
import math
import threading
import traceback
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from .contract import AnswerSchema, TaskInfo
from .errors import UNWANTED_CODES, InvalidOptionError, TaskGatewayError, WorkStoppedError
from .output import Output

if TYPE_CHECKING:
    from .agent import Agent

T = TypeVar("T")
#: What a handler returns: the result, a text that becomes its `output`, or nothing.
Result = dict[str, Any] | str | None
SyncHandler = Callable[[TaskInfo, "Context"], Result]
AsyncHandler = Callable[[TaskInfo, "AsyncContext"], Awaitable[Result]]

PROGRESS_EVERY_SECONDS = 0.2
ERROR_CHARS_MAX = 4_000
TASK_SECONDS_MAX = 604_800
UNWANTED = "the gateway no longer wants it done: cancelled, ended, or with another agent"
STOPPED = "the agent was stopped before the task was done"


class TaskRun:
    """A task from its acceptance until its slot is free. All of it happens in the agent's own loop."""

    def __init__(self, agent: Agent, task: TaskInfo, report: dict[str, Any] | None = None) -> None:
        self.agent, self.task = agent, task
        self.request_id = task["request_id"]
        #: Why the handler should stop. The thread of the handler sees it too.
        self.reason: WorkStoppedError | None = None
        self.stopped = threading.Event()
        self.is_dropped = self.is_abandoned = False
        self.report = report
        self.output = Output(self)
        #: Whether this agent still works on it; another one's outcome is only delivered.
        self.is_wanted = report is None or report["agent_id"] == agent.agent_id
        self._loop = asyncio.get_running_loop()
        self._stopping: asyncio.Future[None] = self._loop.create_future()
        self._cancel: Callable[[], Any] = lambda: None
        self._highest = self._told = -1
        self._telling: asyncio.Task[None] | None = None

    async def work(self) -> None:
        """Runs the handler, and reports its outcome until the gateway has it."""
        if self.report is None:
            timer = self._loop.call_later(
                min(self.task["timeout"], TASK_SECONDS_MAX), self.stop, "task_timeout", "timeout", True
            )
            report = await self._handle()
            timer.cancel()
            if self._telling:
                self._telling.cancel()
            if self.is_abandoned or self.is_dropped:
                return
            self.report = report
            self.agent.outbox.keep(report)
            await self.output.finish()
        await self.deliver(self.report)

    def stop(self, code: str, message: str, is_dropped: bool) -> None:
        """Tells the handler to stop. The outcome of a task that is dropped is not reported."""
        if self.report is not None or self.is_dropped:
            return
        self.is_dropped = is_dropped
        self.is_wanted = not is_dropped
        self.reason = self.reason or WorkStoppedError(code, message)
        if is_dropped:
            self.output.close()
            self.agent.say(f"task {self.request_id} was dropped: {message}")
        self.stopped.set()
        if not self._stopping.done():
            self._stopping.set_result(None)
        self._cancel()

    def drop(self) -> None:
        """Stops the work on a task that the gateway no longer wants done."""
        self.stop("task_cancelled", UNWANTED, True)

    async def deliver(self, report: dict[str, Any]) -> None:
        """Reports an outcome until the gateway has it, or does not want it."""
        try:
            await self.agent.persist("result", report, 1.0, 30.0)
        except TaskGatewayError as error:
            if getattr(error, "status", 0) == 500:
                self.agent.say(f"task {self.request_id} is left: the gateway failed at its report: see its log")
                return  # The outbox has it for the next start.
            if report["status"] == "success" and error.code not in UNWANTED_CODES:
                refused = self.describe_failure(f"the gateway refused the result: {error}")
                await self.deliver(refused)
                return
        self.agent.outbox.remove(self.request_id)

    async def abandon(self) -> None:
        """Reports the task as failed, without its handler."""
        self.is_abandoned = self.report is None
        report = self.report or self.describe_failure(STOPPED)
        self.agent.outbox.keep(report)
        await self.deliver(report)

    def describe_failure(self, text: str) -> dict[str, Any]:
        """The outcome of a task that failed."""
        return self._describe(status="failed", error_info=text[:ERROR_CHARS_MAX])

    def _describe(self, **outcome: Any) -> dict[str, Any]:
        return {"request_id": self.request_id, "agent_id": self.agent.agent_id, **outcome}

    async def _handle(self) -> dict[str, Any]:
        ended: asyncio.Future[tuple[Any, BaseException | None]] = self._loop.create_future()

        def end(value: Any, error: BaseException | None = None) -> None:
            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(ended.set_result, (value, error))

        self._cancel = self.agent.start_handler(self, end)
        value, error = await ended
        try:
            if error is not None:
                raise error
            return self._describe(status="success", result=read_result(value))
        except BaseException as raised:
            if isinstance(raised, (WorkStoppedError, asyncio.CancelledError)) and self.reason:
                return self.describe_failure(str(self.reason))
            if not self.is_dropped:
                stack = "".join(traceback.format_exception(raised)).rstrip()
                self.agent.say(f"task {self.request_id} ({self.task['task_type']}) failed: {raised!r}\n{stack}")
            return self.describe_failure(f"{type(raised).__name__}: {raised}")

    def note_progress(self, percent: float) -> None:
        """Reports the progress, if it has risen; of many values in a short time the last one."""
        if not isinstance(percent, (int, float)) or not math.isfinite(percent):
            self.agent.say(f"task {self.request_id}: {percent!r} is no progress, and was not sent")
            return
        self._highest = max(self._highest, min(100, max(0, round(percent))))
        if self._highest > self._told and (self._telling is None or self._telling.done()):
            self._telling = self._loop.create_task(self._tell_progress())

    async def _tell_progress(self) -> None:
        while self._told < self._highest and not self.stopped.is_set():
            self._told = self._highest
            report = {"request_id": self.request_id, "status": "running", "progress": self._told}
            try:
                if not (await self.agent.call("result", report))["accepted"]:
                    self.drop()
            except TaskGatewayError as error:
                if error.code in UNWANTED_CODES:
                    self.drop()
            await asyncio.sleep(PROGRESS_EVERY_SECONDS)

    async def ask(self, prompt: str, schema: AnswerSchema | None, key: str | None) -> Any:
        """Asks the task's clients, behind all that was written. Returns the answer."""
        question: dict[str, Any] = {"prompt": prompt, **({"schema": schema} if schema else {})}
        question["key"] = key or self.output.name_question(question)
        claim = {"request_id": self.request_id, "key": question["key"], "wait": 20}

        async def wait_for_answer() -> Any:
            await self.output.add_question(question)
            while (claimed := await self.agent.persist("answer", claim, 0.5, 10.0, held_seconds=20.0)) is None:
                pass
            return claimed["answer"]

        asking = self._loop.create_task(wait_for_answer())
        await asyncio.wait([asking, self._stopping], return_when=asyncio.FIRST_COMPLETED)
        if self.reason:
            asking.cancel()
            raise self.reason
        try:
            return await asking
        except TaskGatewayError as error:
            if error.code not in UNWANTED_CODES:
                raise
            self.drop()
            raise self.reason or error from None


def read_result(value: Any) -> dict[str, Any]:
    """The result that the value of a handler stands for: a copy, which later changes do not reach."""
    if value is None:
        return {}
    if isinstance(value, str):
        return {"output": value}
    if not isinstance(value, dict):
        raise InvalidOptionError(f"A handler must return a dict, a text or None, and not {type(value).__name__}.")
    copied: dict[str, Any] = json.loads(json.dumps(value, allow_nan=False))
    return copied


class HandlerContext:
    """What a handler knows of its task besides the task itself."""

    def __init__(self, run: TaskRun, loop: asyncio.AbstractEventLoop) -> None:
        self._run, self._loop = run, loop
        #: Set when the handler should stop; `stopped.wait(1)` sleeps for a second, or until then.
        self.stopped = run.stopped

    @property
    def reason(self) -> WorkStoppedError | None:
        """Why the handler should stop."""
        return self._run.reason

    def progress(self, percent: float) -> None:
        """Reports the progress, 0 to 100. It never falls."""
        self._loop.call_soon_threadsafe(self._run.note_progress, percent)

    def _start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)


class Context(HandlerContext):
    """The second argument of a handler that is a plain function."""

    def write(self, piece: str | dict[str, Any]) -> None:
        """Adds a text, or data, to the task's output. Returns when there is room for more."""
        self._start(self._run.output.write(piece)).result()

    def ask(self, prompt: str, schema: AnswerSchema | None = None, *, key: str | None = None) -> Any:
        """Asks the task's clients. Returns the answer, or raises `WorkStoppedError`."""
        return self._start(self._run.ask(prompt, schema, key)).result()


class AsyncContext(HandlerContext):
    """The second argument of a handler that is a coroutine function; it is cancelled when it should stop."""

    async def write(self, piece: str | dict[str, Any]) -> None:
        """Adds a text, or data, to the task's output. Returns when there is room for more."""
        await asyncio.wrap_future(self._start(self._run.output.write(piece)))

    async def ask(self, prompt: str, schema: AnswerSchema | None = None, *, key: str | None = None) -> Any:
        """Asks the task's clients. Returns the answer."""
        return await asyncio.wrap_future(self._start(self._run.ask(prompt, schema, key)))
