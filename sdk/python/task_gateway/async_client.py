"""`AsyncClient`: a client of one gateway, for programs with asyncio."""

from __future__ import annotations

import asyncio
import inspect
import math
import time
import uuid
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

from .contract import AnswerReceipt, CancelReceipt, OutputEnd, Piece, Question, TaskDone
from .contract import TaskExplanation, TaskInfo, TaskSubmission
from .errors import CLASS_OF_OUTCOME, ApiError, GatewayConnectionError, InvalidOptionError, TaskFailedError
from .errors import TaskGatewayError, outcome_of
from .streams import SILENT_SECONDS, OnNotice, follow_stream
from .transport import ClientOptions, Request, Transport, asked_seconds, choose_pause, is_transient

if TYPE_CHECKING:
    from typing_extensions import Unpack

OnProgress = Callable[[TaskInfo], Any]
OnOutput = Callable[["Piece | OutputEnd"], Any]
OnQuestion = Callable[[Question], Any]

TASK_FIELDS = {"request_id": str, "status": str, "payload": dict, "progress": int, "timeout": (int, float)}
POLL_SECONDS = 20.0
#: A server that should hold a call and does not is asked no more often than this.
HELD_EVERY_SECONDS = 1.0
QUEUE_SECONDS = 30.0
TASK_SECONDS_MAX = 604_800.0
#: Added to a task's own time before an outage becomes an error.
GRACE_SECONDS = 60.0
#: How long the cancellation of a run that was interrupted may take.
CANCEL_SECONDS = 10.0
SEEN_MAX = 10_000


def task_path(request_id: str, rest: str = "") -> str:
    """The path of a task."""
    if not isinstance(request_id, str) or request_id in ("", ".", ".."):
        raise InvalidOptionError(f"{request_id!r} is no request_id.")
    return f"/api/cli/tasks/{quote(request_id, safe='')}{rest}"


def is_settled(task: TaskInfo) -> bool:
    """Whether the task has ended. A status that is unknown here is no end."""
    return task["status"] in ("success", "failed")


async def call(function: Callable[..., Any] | None, *arguments: Any) -> Any:
    """What a function of the program's returns, which may be a coroutine function."""
    came = function(*arguments) if function else None
    return await came if inspect.isawaitable(came) else came


class AsyncClient:
    """A client of one gateway, for programs with asyncio. The options are those of `ClientOptions`."""

    def __init__(self, **options: Unpack[ClientOptions]) -> None:
        self._transport = Transport(options)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections."""
        await self._transport.http.aclose()

    async def submit_task(self, *, idempotency_key: str | None = None, **task: Unpack[TaskSubmission]) -> TaskInfo:
        """Submits a task and returns it. Without `queue_timeout` it fails at once if no agent is free."""
        key = idempotency_key or str(uuid.uuid4())
        request = Request("POST", "/api/cli/tasks", body={**task}, headers={"idempotency-key": key})
        try:
            return cast(TaskInfo, (await self._transport.exchange(request, TASK_FIELDS))[0])
        except TaskGatewayError as error:
            error.idempotency_key = key
            raise

    async def run_task(
        self,
        *,
        on_progress: OnProgress | None = None,
        on_output: OnOutput | None = None,
        on_question: OnQuestion | None = None,
        cancel_on_abort: bool = False,
        idempotency_key: str | None = None,
        **task: Unpack[TaskSubmission],
    ) -> TaskInfo:
        """Submits a task and returns it once it has succeeded. Raises `TaskFailedError` if it failed.

        It waits 30 s for an agent, unless `queue_timeout` says otherwise. If the run is interrupted (Ctrl-C,
        or a cancellation with asyncio), the task goes on; with `cancel_on_abort` it is cancelled.
        """
        if "queue_timeout" not in task:
            task["queue_timeout"] = min(task.get("timeout", QUEUE_SECONDS), QUEUE_SECONDS)
        submitting = asyncio.ensure_future(self.submit_task(idempotency_key=idempotency_key, **task))
        try:
            submitted = await asyncio.shield(submitting)
            return await self._follow(submitted, 0, on_progress, on_output, on_question)
        except asyncio.CancelledError:
            if cancel_on_abort:
                await asyncio.wait([asyncio.ensure_future(self._cancel(submitting))], timeout=CANCEL_SECONDS)
            submitting.cancel()
            raise

    async def _cancel(self, submitting: asyncio.Future[TaskInfo]) -> None:
        try:
            await self.cancel_task((await submitting)["request_id"])
        except TaskGatewayError:
            pass  # It has ended, or there is no gateway.

    async def follow_task(
        self,
        request_id: str,
        *,
        after: int = 0,
        on_progress: OnProgress | None = None,
        on_output: OnOutput | None = None,
        on_question: OnQuestion | None = None,
    ) -> TaskInfo:
        """The same for a task that there is: the output behind piece `after`, and the questions that are open."""
        return await self._follow(await self.get_task(request_id), after, on_progress, on_output, on_question)

    async def _follow(
        self,
        task: TaskInfo,
        after: int,
        on_progress: OnProgress | None,
        on_output: OnOutput | None,
        on_question: OnQuestion | None,
    ) -> TaskInfo:
        shown: list[tuple[str, float]] = []

        async def show(seen: TaskInfo) -> None:
            if (stands := (seen["status"], seen["progress"])) not in shown[-1:]:
                shown.append(stands)
                await call(on_progress, seen)

        request_id = task["request_id"]
        try:
            await show(task)
            poll_seconds = POLL_SECONDS
            if on_progress or on_output or on_question:
                try:
                    # A question that is open may stand before what the program has.
                    reading = self._read_items(request_id, 0 if on_question else after, give_up=give_up_time(task))
                    async with aclosing(reading):
                        async for item in reading:
                            if "n" not in item:
                                await show(cast(TaskInfo, {**task, **item}))
                            elif item["n"] > after:
                                await call(on_output, item)
                            if on_question and "question" in item:
                                await self._answer(request_id, item["n"], item["question"], on_question)
                except (ApiError, GatewayConnectionError) as error:
                    # This gateway has no such stream: look each second.
                    if is_transient(error) or error.code not in ("route_not_found", "http_404", "not_an_event_stream"):
                        raise
                    poll_seconds = HELD_EVERY_SECONDS
            task, header = await self._poll(task, poll_seconds, show)
            outcome, explanation = outcome_of(task, header), None
            if outcome == "success":
                return task
            if outcome == "no_agent":
                try:
                    explanation = await self._explain(request_id, 2.0, 0)
                except TaskGatewayError:
                    pass
            raise CLASS_OF_OUTCOME.get(outcome, TaskFailedError)(task, explanation)
        except TaskGatewayError as error:
            error.request_id = request_id
            raise

    async def _answer(self, request_id: str, n: int, question: Question, on_question: OnQuestion) -> None:
        """Answers a question, unless what stands behind it says that no answer is needed any more."""
        behind = [item async for item in self.read_output(request_id, after=n, follow=False)]
        if any("reset" in one or "end" in one or one.get("answer", {}).get("key") == question["key"] for one in behind):
            return
        answer = await call(on_question, question)
        try:
            if answer is not None:
                await self.answer_task(request_id, question["key"], answer)
        except ApiError as error:
            if error.code not in ("not_asked", "task_terminal"):
                raise

    async def wait_task(self, request_id: str) -> TaskInfo:
        """The task once it has ended, whichever way. A gateway that restarts is waited for."""
        return (await self._poll(await self.get_task(request_id), POLL_SECONDS))[0]

    async def _poll(
        self, task: TaskInfo, seconds: float, show: Callable[[TaskInfo], Any] | None = None
    ) -> tuple[TaskInfo, str | None]:
        """The task once it has ended, and its header `Task-Outcome`."""
        give_up, header, failures = give_up_time(task), None, 0
        while not is_settled(task):
            started = time.monotonic()
            try:
                task, header = await self._get(task["request_id"], seconds)
                failures = 0
                await call(show, task)
                if task["status"] not in ("pending", "running", "success", "failed") and started > give_up:
                    return cast(TaskInfo, {**task, "status": "failed", "error_info": task["status"]}), None
                if not is_settled(task):
                    await asyncio.sleep(started + HELD_EVERY_SECONDS - time.monotonic())
            except TaskGatewayError as error:
                is_outage = is_transient(error) or isinstance(error, GatewayConnectionError)
                if not is_outage or started > give_up:
                    raise
                await asyncio.sleep(choose_pause(2.0, 10.0, failures, asked_seconds(error)))
                failures += 1
        return task, header

    async def get_task(self, request_id: str, *, wait: float | None = None) -> TaskInfo:
        """The task; with `wait` (seconds, 60 at most) as soon as it has ended."""
        return (await self._get(request_id, wait))[0]

    async def _get(self, request_id: str, wait: float | None) -> tuple[TaskInfo, str | None]:
        query = None if wait is None else {"wait": f"{wait:g}"}
        request = Request("GET", task_path(request_id), query, held_seconds=min(wait or 0.0, 60.0))
        task, headers = await self._transport.exchange(request, TASK_FIELDS)
        return task, headers.get("task-outcome")

    async def cancel_task(self, request_id: str) -> CancelReceipt:
        """Cancels the task. Raises `ApiError` (`task_terminal`) if it has ended."""
        try:
            request = Request("POST", task_path(request_id, "/cancel"))
            return cast(CancelReceipt, (await self._transport.exchange(request, {"ok": bool}))[0])
        except ApiError as error:
            # The response to an earlier attempt, which did cancel the task, may have been lost.
            if error.code != "task_terminal" or error.attempts == 1:
                raise
            if outcome_of(*await self._get(request_id, None)) != "cancelled":
                raise
            return {"ok": True, "request_id": request_id}

    async def answer_task(self, request_id: str, key: str, answer: Any) -> AnswerReceipt:
        """Answers a question of the task's agent."""
        body = {"key": key, "answer": answer}
        request = Request("POST", task_path(request_id, "/answer"), body=body, is_secret_in_header=True)
        return cast(AnswerReceipt, (await self._transport.exchange(request, {"ok": bool}))[0])

    async def explain_task(self, request_id: str) -> TaskExplanation:
        """What happened to the task, which agents qualify for it, and what helps."""
        return cast(TaskExplanation, await self._explain(request_id))

    async def _explain(self, request_id: str, seconds: float | None = None, retries: int | None = None) -> Any:
        path = task_path(request_id, "/explain")
        request = Request("GET", path, timeout_seconds=seconds, max_retries=retries)
        return (await self._transport.exchange(request, {"request_id": str}))[0]

    async def read_output(
        self, request_id: str, *, after: int = 0, follow: bool = True, on_notice: OnNotice | None = None
    ) -> AsyncGenerator[Piece | OutputEnd, None]:
        """The pieces of the task's output, each once and in order, also over broken connections; last its end.

        With `follow=False` it is what is stored now.
        """
        if follow:
            async with aclosing(self._read_items(request_id, after, on_notice)) as reading:
                async for item in reading:
                    if "n" in item:
                        yield cast(Piece, item)
            return
        fields = {"pieces": list, "last": int, "complete": bool}
        while True:
            request = Request("GET", task_path(request_id, "/output"), {"after": str(after)})
            page, _ = await self._transport.exchange(request, fields)
            for piece in page["pieces"]:
                yield piece
            after = page["last"]
            if page["complete"]:
                how = {name: page.get(name) for name in ("status", "outcome", "missing")}
                yield cast(OutputEnd, {"n": after + 1, "end": True, **how})
            if page["complete"] or not page["pieces"]:
                return

    async def _read_items(
        self, request_id: str, after: int, on_notice: OnNotice | None = None, give_up: float = math.inf
    ) -> AsyncGenerator[dict[str, Any], None]:
        """The pieces behind a number, and between them how the task stands; last the end."""
        request = Request("GET", task_path(request_id, "/output"), timeout_seconds=SILENT_SECONDS)
        last = 0
        feed = follow_stream(self._transport, request, str(after or ""), on_notice, give_up)
        async with aclosing(feed):
            async for item in feed:
                n = item.get("n", last + 1)
                if n > last and ("n" in item or {"status", "progress"} <= item.keys()):
                    last = n if "n" in item else last
                    yield item
                if item.get("end"):
                    return

    async def subscribe_events(
        self, cli_session_id: str, *, last_event_id: str = "", on_notice: OnNotice | None = None
    ) -> AsyncGenerator[TaskDone, None]:
        """The `task_done` event of each task of a session, stored ones first, also over broken connections."""
        query = {"cli_session_id": cli_session_id}
        request = Request("GET", "/api/cli/events", query, timeout_seconds=SILENT_SECONDS)
        seen: dict[str, None] = {}
        feed = follow_stream(self._transport, request, last_event_id, on_notice)
        async with aclosing(feed):
            async for event in feed:
                request_id = event.get("request_id")
                if event.get("event") == "task_done" and isinstance(request_id, str) and request_id not in seen:
                    seen[request_id] = None
                    if len(seen) > SEEN_MAX:
                        del seen[next(iter(seen))]
                    yield cast(TaskDone, event)


def give_up_time(task: TaskInfo) -> float:
    """When an outage of the gateway becomes the error of a run."""
    return time.monotonic() + min(task["timeout"], TASK_SECONDS_MAX) + GRACE_SECONDS
