"""One task of an agent, from its acceptance until its slot is free."""

from __future__ import annotations

import asyncio
import json
import math
import threading
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .contract import AnswerSchema
from .contract import TaskInfo as Task
from .errors import UNWANTED_CODES, InvalidOptionError, TaskGatewayError, WorkStoppedError
from .output import Output

if TYPE_CHECKING:
    from .agent import Agent

PROGRESS_EVERY_SECONDS = 0.2
ERROR_CHARS_MAX = 4_000
TASK_SECONDS_MAX = 604_800
UNWANTED = "the gateway no longer wants it done: cancelled, ended, or with another agent"
STOPPED = "the agent was stopped before the task was done"


class TaskRun:
    """A task of an agent. All of it happens in the agent's loop, but for `stopped` and `reason`."""

    def __init__(self, agent: Agent, task: Task, report: dict[str, Any] | None = None) -> None:
        self.agent, self.task, self.request_id = agent, task, task["request_id"]
        self.loop = asyncio.get_running_loop()
        #: Why the handler should stop; `stopped` is set when it should.
        self.reason: WorkStoppedError | None = None
        self.stopped = threading.Event()
        self.is_dropped = self.is_abandoned = False
        #: The outcome: this process's, or one that an earlier process left in the outbox.
        self.report = report
        self.output = Output(self)
        self._stopping: asyncio.Future[None] = self.loop.create_future()
        self._cancel: Callable[[], Any] = lambda: None
        self._highest = self._told = -1
        self._telling: asyncio.Task[None] | None = None

    @property
    def is_wanted(self) -> bool:
        """Whether this agent still works on the task."""
        return not self.is_dropped and (self.report is None or self.report["agent_id"] == self.agent.agent_id)

    async def work(self) -> None:
        """Runs the handler, and reports its outcome until the gateway has it."""
        if self.report is None:
            seconds = min(self.task["timeout"], TASK_SECONDS_MAX)
            timer = self.loop.call_later(seconds, self.stop, "task_timeout", "timeout", True)
            outcome = await self._handle()
            timer.cancel()
            if self._telling:
                self._telling.cancel()
            if self.is_abandoned or self.is_dropped:
                return
            self.report = outcome
            self.agent.outbox.keep(outcome)
            await self.output.finish()
        await self._deliver(self.report)

    def stop(self, code: str, message: str, is_dropped: bool) -> None:
        """Tells the handler to stop. The outcome of a task that is dropped is not reported."""
        if self.report is not None or self.is_dropped:
            return
        self.reason = self.reason or WorkStoppedError(code, message)
        self.is_dropped = is_dropped
        if is_dropped:
            self.agent.say(f"task {self.request_id} was dropped: {message}")
        self.output.close(is_dropped)
        self.stopped.set()
        if not self._stopping.done():
            self._stopping.set_result(None)
        self._cancel()

    def drop(self) -> None:
        """Stops the work on a task that the gateway no longer wants done."""
        self.stop("task_cancelled", UNWANTED, True)

    async def abandon(self) -> None:
        """Reports the task as failed, without waiting for its handler."""
        self.is_abandoned = self.report is None
        report = self.report or self._describe_failure(STOPPED)
        self.agent.outbox.keep(report)
        await self._deliver(report)

    async def _deliver(self, report: dict[str, Any]) -> None:
        """Reports an outcome until the gateway has it, or does not want it."""
        try:
            await self.agent.persist("result", report, 1.0, 30.0)
        except TaskGatewayError as error:
            if getattr(error, "status", 0) == 500:
                self.agent.say(f"task {self.request_id} was left: the gateway fails at its report; see its log")
                return  # The outbox has it for the next start.
            if report["status"] == "success" and error.code not in UNWANTED_CODES:
                return await self._deliver(self._describe_failure(f"the gateway refused the result: {error}"))
        self.agent.outbox.remove(self.request_id)

    def _describe_failure(self, text: str) -> dict[str, Any]:
        sendable = text[:ERROR_CHARS_MAX].encode("utf-8", "replace").decode()
        return self._describe(status="failed", error_info=sendable)

    def _describe(self, **outcome: Any) -> dict[str, Any]:
        return {"request_id": self.request_id, "agent_id": self.agent.agent_id, **outcome}

    async def _handle(self) -> dict[str, Any]:
        """Runs the handler. Returns the outcome."""
        ended: asyncio.Future[tuple[Any, BaseException | None]] = self.loop.create_future()

        def end(value: Any, error: BaseException | None) -> None:
            if not self.loop.is_closed():
                self.loop.call_soon_threadsafe(ended.set_result, (value, error))

        self._cancel = self.agent.handlers.start(self, end)
        value, error = await ended
        try:
            if error is None:
                return self._describe(status="success", result=read_result(value))
        except (InvalidOptionError, ValueError, TypeError, RecursionError) as wrong:
            error = wrong
        if isinstance(error, (WorkStoppedError, asyncio.CancelledError)) and self.reason:
            return self._describe_failure(str(self.reason))
        if not self.is_dropped:
            stack = "".join(traceback.format_exception(error)).rstrip()
            self.agent.say(f"task {self.request_id} ({self.task['task_type']}) failed: {error!r}\n{stack}")
        return self._describe_failure(f"{type(error).__name__}: {error}")

    def note_progress(self, percent: float) -> None:
        """Reports the progress if it has risen. Of many values in a short time it reports the last."""
        if not isinstance(percent, (int, float)) or not math.isfinite(percent):
            self.agent.say(f"task {self.request_id}: {percent!r} is no progress, and was not sent")
            return
        self._highest = max(self._highest, min(100, max(0, round(percent))))
        if self._telling is None or self._telling.done():
            self._telling = self.loop.create_task(self._tell_progress())

    async def _tell_progress(self) -> None:
        while self._told < self._highest and not self.stopped.is_set():
            self._told = self._highest
            try:
                receipt = await self.agent.call("result", self._describe(status="running", progress=self._told))
                is_wanted = receipt["accepted"]
            except TaskGatewayError as error:
                is_wanted = error.code not in UNWANTED_CODES
            if not is_wanted:
                self.drop()
            await asyncio.sleep(PROGRESS_EVERY_SECONDS)

    async def ask(self, prompt: str, schema: AnswerSchema | None, key: str | None) -> Any:
        """Asks the task's clients once everything written before is stored. Returns the answer."""
        asking = self.loop.create_task(self.output.ask(prompt, schema, key))
        try:
            await asyncio.wait([asking, self._stopping], return_when=asyncio.FIRST_COMPLETED)
            if self.reason:
                raise self.reason
            return await asking
        except TaskGatewayError as error:
            if error.code in UNWANTED_CODES:
                self.drop()
            raise self.reason or error from None
        finally:
            asking.cancel()


def read_result(value: Any) -> dict[str, Any]:
    """Returns the result for the value of a handler: a copy, so that later changes do not reach it."""
    if value is None or isinstance(value, str):
        return {} if value is None else {"output": value}
    if not isinstance(value, dict):
        raise InvalidOptionError(f"A handler must return a dict, a text or None, and not {type(value).__name__}.")
    copied: dict[str, Any] = json.loads(json.dumps(value, allow_nan=False))
    return copied
