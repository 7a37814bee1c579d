"""`AsyncClient`: a client of one gateway, for programs with asyncio."""

from __future__ import annotations

import asyncio
import math
import time
import uuid
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

from .contract import AnswerReceipt, CancelReceipt, OutputEnd, Piece, TaskDone, TaskExplanation
from .contract import TaskInfo as Task
from .contract import TaskSubmission
from .errors import CLASS_OF_OUTCOME, ApiError, GatewayConnectionError, InvalidOptionError, TaskFailedError
from .errors import TaskGatewayError, outcome_of
from .streams import OnNotice, follow_stream
from .transport import ClientOptions, Transport, asked_seconds, call_back, choose_pause, is_transient

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Gets each piece of an output, once and in order, and between them `status` and `progress`; last the `end`.
OnOutput = Callable[[dict[str, Any]], Any]

TASK_FIELDS = {"request_id": str, "status": str, "payload": dict, "progress": int, "timeout": (int, float)}
RECEIPT_FIELDS = {"ok": bool, "request_id": str}
POLL_SECONDS = 20.0
#: A server may answer a call at once that it should hold; the client then asks no more often than this.
HELD_EVERY_SECONDS = 1.0
QUEUE_SECONDS = 30.0
#: The longest time of a task; a run waits so much longer before an outage becomes its error.
TASK_SECONDS_MAX, GRACE_SECONDS = 604_800.0, 60.0
#: How long the cancellation of a run that is interrupted may take.
CANCEL_SECONDS = 10.0
SEEN_MAX = 10_000


def task_path(request_id: str, rest: str = "") -> str:
    """Returns the path of a task."""
    if not isinstance(request_id, str) or request_id in ("", ".", ".."):
        raise InvalidOptionError(f"{request_id!r} is no request_id.")
    return f"/api/cli/tasks/{quote(request_id, safe='')}{rest}"


def is_settled(task: Task) -> bool:
    """Returns whether the task has ended. A status that this client does not know is no end."""
    return task["status"] in ("success", "failed")


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

    async def submit_task(self, *, idempotency_key: str | None = None, **task: Unpack[TaskSubmission]) -> Task:
        """Submits a task and returns it. Without `queue_timeout` it fails at once if no agent is free."""
        key = idempotency_key or str(uuid.uuid4())
        headers = {"idempotency-key": key}
        try:
            sent = self._transport.exchange("POST", "/api/cli/tasks", TASK_FIELDS, body={**task}, headers=headers)
            return cast(Task, (await sent)[0])
        except TaskGatewayError as error:
            error.idempotency_key = key
            raise

    async def run_task(
        self, *, on_output: OnOutput | None = None, cancel_on_abort: bool = False,
        idempotency_key: str | None = None, **task: Unpack[TaskSubmission],
    ) -> Task:
        """Submits a task and returns it once it has succeeded. Raises `TaskFailedError` if it failed.

        It waits 30 s for an agent, unless `queue_timeout` says otherwise. If the wait is interrupted (Ctrl-C,
        or a cancellation with asyncio), the task goes on; with `cancel_on_abort` it is cancelled.
        """
        if "queue_timeout" not in task:
            task["queue_timeout"] = min(task.get("timeout", QUEUE_SECONDS), QUEUE_SECONDS)
        submitted = await self.submit_task(idempotency_key=idempotency_key, **task)
        try:
            return await self._follow(submitted, 0, on_output)
        except asyncio.CancelledError:
            if cancel_on_abort:
                cancelling = asyncio.ensure_future(self.cancel_task(submitted["request_id"]))
                await asyncio.wait([cancelling], timeout=CANCEL_SECONDS)
            raise

    async def follow_task(self, request_id: str, *, after: int = 0, on_output: OnOutput | None = None) -> Task:
        """Waits for an existing task like `run_task`. `on_output` gets the pieces behind number `after`."""
        return await self._follow(await self.get_task(request_id), after, on_output)

    async def _follow(self, task: Task, after: int, on_output: OnOutput | None) -> Task:
        try:
            if on_output:
                await self._show_output(task, after, on_output)
            ended, header = await self._poll(task)
            outcome, explanation = outcome_of(ended, header), None
            if outcome == "success":
                return ended
            if outcome == "no_agent":
                with suppress(TaskGatewayError):
                    explanation = await self._explain(task["request_id"], seconds=2.0, max_retries=0)
            raise CLASS_OF_OUTCOME.get(outcome, TaskFailedError)(ended, explanation)
        except TaskGatewayError as error:
            error.request_id = task["request_id"]
            raise

    async def _show_output(self, task: Task, after: int, on_output: OnOutput) -> None:
        """Hands the output on to its end. Once its stream failed, also polls, and stops with the task."""
        last, down = after, asyncio.Event()

        async def note(kind: str, _: object) -> None:
            if kind == "down":
                down.set()

        async def read(give_up: float) -> None:
            nonlocal last
            # Some gateways have no such stream: then `_follow` polls the task.
            with suppress(ApiError, GatewayConnectionError):
                async with aclosing(self._read_items(task["request_id"], last, note, give_up)) as items:
                    async for item in items:
                        last = item.get("n", last)
                        await call_back(on_output, item)

        async def poll() -> None:
            await down.wait()
            await self._poll(task)

        works = [asyncio.ensure_future(read(give_up_at(task))), asyncio.ensure_future(poll())]
        try:
            ended, _ = await asyncio.wait(works, return_when=asyncio.FIRST_COMPLETED)
            for work in ended:
                work.result()
        finally:
            for work in works:
                work.cancel()
            await asyncio.gather(*works, return_exceptions=True)
        if works[0] not in ended:
            await read(give_up=0.0)  # With one attempt.

    async def wait_task(self, request_id: str) -> Task:
        """Returns the task once it has ended, also if it failed. Waits for a gateway that restarts."""
        return (await self._poll(await self.get_task(request_id)))[0]

    async def _poll(self, task: Task) -> tuple[Task, str | None]:
        """Returns the task once it has ended, and its header `Task-Outcome`."""
        give_up, header, failures = give_up_at(task), None, 0
        while not is_settled(task):
            started = time.monotonic()
            try:
                task, header = await self._get(task["request_id"], POLL_SECONDS)
                failures = 0
                if task["status"] not in ("pending", "running", "success", "failed") and started > give_up:
                    return cast(Task, {**task, "status": "failed", "error_info": task["status"]}), None
                if not is_settled(task):
                    await asyncio.sleep(started + HELD_EVERY_SECONDS - time.monotonic())
            except TaskGatewayError as error:
                is_outage = is_transient(error) or isinstance(error, GatewayConnectionError)
                if not is_outage or started > give_up:
                    raise
                await asyncio.sleep(choose_pause(2.0, 10.0, failures, asked_seconds(error)))
                failures += 1
        return task, header

    async def get_task(self, request_id: str, *, wait: float | None = None) -> Task:
        """Returns the task. With `wait` (seconds, 60 at most) the gateway answers once the task has ended."""
        return (await self._get(request_id, wait))[0]

    async def _get(self, request_id: str, wait: float | None) -> tuple[Task, str | None]:
        more: Any = {} if wait is None else {"query": {"wait": f"{wait:g}"}, "held_seconds": min(wait, 60.0)}
        task, headers = await self._transport.exchange("GET", task_path(request_id), TASK_FIELDS, **more)
        return task, headers.get("task-outcome")

    async def cancel_task(self, request_id: str) -> CancelReceipt:
        """Cancels the task. Raises `ApiError` (`task_terminal`) if it has ended."""
        try:
            sent = self._transport.exchange("POST", task_path(request_id, "/cancel"), RECEIPT_FIELDS)
            return cast(CancelReceipt, (await sent)[0])
        except ApiError as error:
            # The response to an earlier attempt, which did cancel the task, may have been lost.
            if error.code == "task_terminal" and error.attempts > 1:
                if outcome_of(*await self._get(request_id, None)) == "cancelled":
                    return {"ok": True, "request_id": request_id}
            raise

    async def answer_task(self, request_id: str, key: str, answer: Any) -> AnswerReceipt:
        """Answers a question of the task's agent: a piece `question` of its output has the key."""
        path, body = task_path(request_id, "/answer"), {"key": key, "answer": answer}
        sent = self._transport.exchange("POST", path, RECEIPT_FIELDS, body=body, is_secret_in_header=True)
        return cast(AnswerReceipt, (await sent)[0])

    async def explain_task(self, request_id: str) -> TaskExplanation:
        """Returns what happened to the task, which agents qualify for it, and what helps."""
        return await self._explain(request_id)

    async def _explain(self, request_id: str, **limits: Any) -> TaskExplanation:
        path = task_path(request_id, "/explain")
        return cast(TaskExplanation, (await self._transport.exchange("GET", path, {"status": str}, **limits))[0])

    async def read_output(
        self, request_id: str, *, after: int = 0, on_notice: OnNotice | None = None
    ) -> AsyncGenerator[Piece | OutputEnd, None]:
        """Yields the pieces of the task's output behind a number, each once and in order, and last its end.

        It goes on over broken connections.
        """
        async with aclosing(self._read_items(request_id, after, on_notice)) as items:
            async for item in items:
                if "n" in item:
                    yield cast(Piece, item)

    async def _read_items(
        self, request_id: str, after: int, on_notice: OnNotice | None, give_up: float = math.inf
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Yields the pieces behind a number, between them the status of the task, and last the end."""
        path, last = task_path(request_id, "/output"), after
        async with aclosing(follow_stream(self._transport, path, None, str(after or ""), on_notice, give_up)) as feed:
            async for item in feed:
                if "n" not in item:
                    yield item
                elif item["n"] > last:
                    last = item["n"]
                    yield item
                if item.get("end"):
                    return

    async def subscribe_events(
        self, cli_session_id: str, *, last_event_id: str = "", on_notice: OnNotice | None = None
    ) -> AsyncGenerator[TaskDone, None]:
        """Yields the `task_done` of each task of a session, stored ones first, over broken connections."""
        query, seen = {"cli_session_id": cli_session_id}, dict[str, None]()
        feed = follow_stream(self._transport, "/api/cli/events", query, last_event_id, on_notice)
        async with aclosing(feed):
            async for event in feed:
                request_id = event.get("request_id")
                if event.get("event") == "task_done" and isinstance(request_id, str) and request_id not in seen:
                    seen[request_id] = None
                    if len(seen) > SEEN_MAX:
                        del seen[next(iter(seen))]
                    yield cast(TaskDone, event)


def give_up_at(task: Task) -> float:
    """Returns when an outage of the gateway becomes the error of a run."""
    return time.monotonic() + min(task["timeout"], TASK_SECONDS_MAX) + GRACE_SECONDS
