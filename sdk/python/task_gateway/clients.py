"""`AsyncClient`: a client of one gateway for programs with asyncio. `Client` makes its calls in a thread."""

from __future__ import annotations

import asyncio
import functools
import threading
import time
import uuid
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from concurrent import futures
from contextlib import AbstractAsyncContextManager, AbstractContextManager, aclosing, suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast
from urllib.parse import quote

from .contract import AnswerReceipt, CancelReceipt, MatchPreview, OutputEnd, Piece, TaskDone, TaskExplanation
from .contract import TaskInfo, TaskSubmission
from .errors import ApiError, TaskFailedError, TaskGatewayError, read_failure
from .transport import CALLS, ClientOptions, OnNotice, Transport, call_back, follow_stream

if TYPE_CHECKING:
    from typing_extensions import Unpack

P = ParamSpec("P")
T = TypeVar("T")
#: Gets each piece of an output, once and in order, and between them `status` and `progress`; last the `end`.
OnOutput = Callable[[dict[str, Any]], Any]

TASKS = "/api/cli/tasks"
TASK_FIELDS = {"request_id": str, "status": str, "payload": dict, "progress": int, "timeout": (int, float)}
RECEIPT_FIELDS = {"ok": bool, "request_id": str}
ENDED = ("success", "failed")
#: A server may answer a call at once that it should hold; the client then asks no more often than this.
POLL_SECONDS, HELD_EVERY_SECONDS = 20.0, 1.0
#: How long a run waits for an agent; and beyond the time of its task for a gateway that is out.
QUEUE_SECONDS, GRACE_SECONDS = 30.0, 60.0
CANCEL_SECONDS = 10.0  #: For each call that cancels the task of a run that is interrupted.


def task_path(request_id: str, rest: str = "") -> str:
    return f"{TASKS}/{quote(request_id, safe='')}{rest}"


class AsyncClient(AbstractAsyncContextManager["AsyncClient"]):
    """A client of one gateway, for programs with asyncio. The options are those of `ClientOptions`."""

    def __init__(self, **options: Unpack[ClientOptions]) -> None:
        self._transport = Transport(options)

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections."""
        await self._transport.http.aclose()

    async def _call(self, method: str, path: str, fields: dict[str, Any], **request: Any) -> Any:
        return (await self._transport.exchange(method, path, fields, **request))[0]

    async def submit_task(self, *, idempotency_key: str | None = None, **task: Unpack[TaskSubmission]) -> TaskInfo:
        """Submits a task and returns it. Without `queue_timeout` it fails at once if no agent is free."""
        headers = {"idempotency-key": idempotency_key or str(uuid.uuid4())}
        try:
            return cast(TaskInfo, await self._call("POST", TASKS, TASK_FIELDS, body={**task}, headers=headers))
        except TaskGatewayError as error:
            error.idempotency_key = headers["idempotency-key"]
            raise

    async def run_task(
        self, *, on_output: OnOutput | None = None, cancel_on_abort: bool = False,
        idempotency_key: str | None = None, **task: Unpack[TaskSubmission],
    ) -> TaskInfo:
        """Submits a task and returns it once it has succeeded. Raises `TaskFailedError` if it failed.

        It waits 30 s for an agent, unless `queue_timeout` says otherwise. If the run is interrupted (Ctrl-C, a
        cancellation with asyncio, a callback that raises), the task goes on; `cancel_on_abort` has it cancelled.
        """
        if "queue_timeout" not in task:
            task["queue_timeout"] = min(task.get("timeout", QUEUE_SECONDS), QUEUE_SECONDS)
        submitting = asyncio.ensure_future(self.submit_task(idempotency_key=idempotency_key, **task))
        try:
            # A submission that is under way will say which task there is to cancel.
            submitted = await (asyncio.shield(submitting) if cancel_on_abort else submitting)
            return await self._follow(submitted, 0, on_output)
        except BaseException as error:
            if cancel_on_abort and not isinstance(error, TaskGatewayError):
                with suppress(TaskGatewayError, asyncio.TimeoutError):
                    submitted = await asyncio.wait_for(submitting, CANCEL_SECONDS)
                    await asyncio.wait_for(self.cancel_task(submitted["request_id"]), CANCEL_SECONDS)
            raise

    async def follow_task(self, request_id: str, *, after: int = 0, on_output: OnOutput | None = None) -> TaskInfo:
        """Waits for an existing task like `run_task`. `on_output` gets the pieces behind number `after`."""
        return await self._follow(await self.get_task(request_id), after, on_output)

    async def _follow(self, task: TaskInfo, after: int, on_output: OnOutput | None) -> TaskInfo:
        request_id, explanation = task["request_id"], None
        give_up = time.monotonic() + task["timeout"] + GRACE_SECONDS

        async def is_over() -> bool:
            path = task_path(request_id)
            return (await self._call("GET", path, TASK_FIELDS, give_up=give_up))["status"] in ENDED

        try:
            if on_output:
                # Where there is no such stream, the task itself is asked for below.
                path, last_id = task_path(request_id, "/output"), str(after or "")
                async with aclosing(follow_stream(self._transport, path, None, last_id, None, is_over)) as items:
                    async for item in items:
                        await call_back(on_output, item)
            ended, outcome = await self._poll(task)
            if ended["status"] == "success":
                return ended
            if (code := read_failure(ended, outcome)) == "no_agent_available":
                with suppress(TaskGatewayError):
                    path = task_path(request_id, "/explain")
                    explanation = await self._call("GET", path, {"status": str}, seconds=2.0, max_retries=0)
            raise TaskFailedError(code, ended, explanation)
        except TaskGatewayError as error:
            error.request_id = error.request_id or request_id
            raise

    async def wait_task(self, request_id: str) -> TaskInfo:
        """Returns the task once it has ended, also if it failed. Waits for a gateway that restarts."""
        return (await self._poll(await self.get_task(request_id)))[0]

    async def _poll(self, task: TaskInfo) -> tuple[TaskInfo, str | None]:
        """Returns the task once it has ended, and its header `Task-Outcome`. An unknown status is no end."""
        give_up, outcome = time.monotonic() + task["timeout"] + GRACE_SECONDS, None
        while task["status"] not in ENDED:
            started = time.monotonic()
            task, outcome = await self._get(task["request_id"], POLL_SECONDS, give_up=give_up)
            if task["status"] not in ENDED and started > give_up:
                raise TaskFailedError("task_failed", task, None)
            if task["status"] not in ENDED:
                await asyncio.sleep(started + HELD_EVERY_SECONDS - time.monotonic())
        return task, outcome

    async def get_task(self, request_id: str, *, wait: float | None = None) -> TaskInfo:
        """Returns the task. With `wait` (seconds, 60 at most) the gateway answers once the task has ended."""
        return (await self._get(request_id, wait))[0]

    async def _get(self, request_id: str, wait: float | None, **limits: Any) -> tuple[TaskInfo, str | None]:
        held: Any = {} if wait is None else {"query": {"wait": f"{wait:g}"}, "held_seconds": min(wait, 60.0)}
        task, headers = await self._transport.exchange("GET", task_path(request_id), TASK_FIELDS, **held, **limits)
        return task, headers.get("task-outcome")

    async def cancel_task(self, request_id: str) -> CancelReceipt:
        """Cancels the task. Raises `ApiError` (`task_terminal`) if it has ended."""
        try:
            return cast(CancelReceipt, await self._call("POST", task_path(request_id, "/cancel"), RECEIPT_FIELDS))
        except ApiError as error:
            # The response to an earlier attempt, which did cancel the task, may have been lost.
            if error.code == "task_terminal" and error.attempts > 1:
                if read_failure(*await self._get(request_id, None)) == "task_cancelled":
                    return {"ok": True, "request_id": request_id}
            raise

    async def answer_task(self, request_id: str, key: str, answer: Any) -> AnswerReceipt:
        """Answers a question of the task's agent: a piece `question` of its output has the key."""
        path, body = task_path(request_id, "/answer"), {"key": key, "answer": answer}
        return cast(AnswerReceipt, await self._call("POST", path, RECEIPT_FIELDS, body=body))

    async def explain_task(self, request_id: str) -> TaskExplanation:
        """Returns what happened to the task, which agents qualify for it, and what helps."""
        return cast(TaskExplanation, await self._call("GET", task_path(request_id, "/explain"), {"status": str}))

    async def preview_match(self, task_tags: list[str]) -> MatchPreview:
        """Returns which agents qualify for a task with these tags, and what helps, without a task."""
        sent = await self._call("POST", "/api/cli/match", {"match": dict}, body={"task_tags": task_tags})
        return cast(MatchPreview, sent)

    async def read_output(
        self, request_id: str, *, after: int = 0, on_notice: OnNotice | None = None
    ) -> AsyncGenerator[Piece | OutputEnd, None]:
        """Yields the pieces of the task's output behind number `after`, each once, and last its end."""
        path = task_path(request_id, "/output")
        async with aclosing(follow_stream(self._transport, path, None, str(after or ""), on_notice)) as items:
            async for item in items:
                if "n" in item:
                    yield cast(Piece, item)

    async def subscribe_events(
        self, cli_session_id: str, *, last_event_id: str = "", on_notice: OnNotice | None = None
    ) -> AsyncGenerator[TaskDone, None]:
        """Yields the `task_done` of each task of a session, stored ones first, each once."""
        query, seen = {"cli_session_id": cli_session_id}, deque[Any](maxlen=10_000)
        path = "/api/cli/events"
        async with aclosing(follow_stream(self._transport, path, query, last_event_id, on_notice)) as events:
            async for event in events:
                if event.get("event") == "task_done" and event.get("request_id") not in seen:
                    seen.append(event.get("request_id"))
                    yield cast(TaskDone, event)


def waits(method: Callable[Concatenate[AsyncClient, P], Awaitable[T]]) -> Callable[Concatenate[Client, P], T]:
    """Makes a method of `AsyncClient` one that returns its result."""

    @functools.wraps(method)
    def call(client: Client, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return client._wait(method(client._client, *args, **kwargs))

    return call


def loops(
    method: Callable[Concatenate[AsyncClient, P], AsyncGenerator[T, None]],
) -> Callable[Concatenate[Client, P], Iterator[T]]:
    """Makes a method of `AsyncClient` one that a `for` loop reads."""

    @functools.wraps(method)
    def call(client: Client, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        items, end = method(client._client, *args, **kwargs), cast(T, object())
        try:
            while (item := client._wait(anext(items, end))) is not end:
                yield item
        finally:
            client._wait(items.aclose())

    return call


class Client(AbstractContextManager["Client"]):
    """A client of one gateway, for any thread; it calls callbacks there. It has the same options."""

    def __init__(self, **options: Unpack[ClientOptions]) -> None:
        self._client, self._loop = AsyncClient(**options), asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="task-gateway", daemon=True).start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections, and ends the thread."""
        self._wait(self._client.close())
        self._loop.call_soon_threadsafe(self._loop.stop)

    def _wait(self, work: Awaitable[T]) -> T:
        """Returns what the work in the thread returns. Ctrl-C, or a callback that raises, cancels it."""
        tasks: list[Any] = []
        calls: SimpleQueue[Callable[[], object] | None] = SimpleQueue()

        async def hold() -> T:
            tasks.append(asyncio.current_task())
            CALLS.set(calls)
            return await work

        future = asyncio.run_coroutine_threadsafe(hold(), self._loop)
        future.add_done_callback(lambda _: calls.put(None))
        try:
            while call := calls.get():
                call()
            return future.result()
        except BaseException:
            if not future.done():
                self._loop.call_soon_threadsafe(lambda: [task.cancel() for task in tasks])
                futures.wait([future])
            raise

    submit_task = waits(AsyncClient.submit_task)
    run_task = waits(AsyncClient.run_task)
    follow_task = waits(AsyncClient.follow_task)
    wait_task = waits(AsyncClient.wait_task)
    get_task = waits(AsyncClient.get_task)
    cancel_task = waits(AsyncClient.cancel_task)
    answer_task = waits(AsyncClient.answer_task)
    explain_task = waits(AsyncClient.explain_task)
    preview_match = waits(AsyncClient.preview_match)
    read_output = loops(AsyncClient.read_output)
    subscribe_events = loops(AsyncClient.subscribe_events)
