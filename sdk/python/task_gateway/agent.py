"""An agent in one call: it registers, sends heartbeats, claims tasks, runs the handler, reports outcomes."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import threading
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from .contract import TaskInfo as Task
from .errors import ApiError, InvalidOptionError, TaskGatewayError
from .handlers import AsyncHandler, Handlers, SyncHandler
from .notices import Notices
from .outbox import Outbox
from .transport import ClientOptions, Transport, asked_seconds, choose_pause, is_transient
from .work import STOPPED, TaskRun

if TYPE_CHECKING:
    from typing_extensions import Unpack

CLAIM_SECONDS, HELD_EVERY_SECONDS = 20.0, 1.0
#: How long each of the last calls of an agent that stops may take, and how long one attempt at it.
LAST_CALL_SECONDS, HURRIED_SECONDS = 5.0, 2.0
#: How many heartbeats the last claim outlasts: a task that it still brings must not be lost.
LAST_HEARTBEATS = 3
#: With these statuses the gateway refuses the call itself: it would refuse the same call again.
REFUSED_STATUSES = (400, 404, 413, 415, 422)
#: How often the gateway may fail at a call that ends a task, and at a call that this end waits for.
FAULTS_MAX, LAST_FAULTS_MAX = 20, 10
CLAIM_FIELDS = {"request_id": str, "payload": dict, "timeout": (int, float)}
FIELDS: dict[str, dict[str, Any]] = {"claim": CLAIM_FIELDS, "answer": {"key": str}}


class AgentOptions(ClientOptions, total=False):
    """The options of an agent, beside its handler and its tags."""

    agent_id: str | None  #: `TASK_GATEWAY_AGENT_ID`; a random one without it.
    max_concurrent: int  #: How many tasks it works on at once: 1.
    outbox: str | None  #: A file of its own, for the outcomes that the gateway does not have yet.
    lost_after_seconds: float  #: After so long without contact its tasks fail: 120; at least 3.
    drain_seconds: float  #: How long its tasks may go on when it stops: 30.
    grace_seconds: float  #: How long a handler may take to end once it was told to stop: 2.
    say: Callable[[str], None]  #: Takes each sentence for a person; without it, standard error does.


class Agent:
    """An agent that claims its tasks. All but the handlers happens in a loop that no handler holds up."""

    def __init__(
        self, handler: SyncHandler | AsyncHandler, *, tags: list[str], **options: Unpack[AgentOptions]
    ) -> None:
        self._options, self._tags, self._slots = options, tags, options.get("max_concurrent", 1)
        self.agent_id = options.get("agent_id") or os.environ.get("TASK_GATEWAY_AGENT_ID") or f"python-{uuid.uuid4()}"
        self._transport = Transport(options)
        self._notices = Notices(self._transport.base_url, options.get("say"))
        self.say = self._notices.say
        self.outbox = Outbox(options.get("outbox"), self.say)
        self.handlers = Handlers(handler)
        self._works: dict[str, tuple[TaskRun, asyncio.Task[None]]] = {}
        self._token: str | None = None
        self._registrations, self._interval = 0, 15.0
        self._is_replaced = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stops = 0

    def run(self) -> None:
        """Runs the agent until `stop` or a signal (SIGTERM, SIGINT)."""
        asyncio.run(self._serve())

    def stop(self) -> None:
        """Stops the agent, from any thread: it finishes its tasks. A second call does not wait for them."""
        self._stops += 1
        if self._loop:
            self._loop.call_soon_threadsafe(self._obey)

    def _obey(self) -> None:
        for event in (self._stopping, self._hurrying)[: self._stops]:
            event.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping, self._hurrying, self._room = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._registering = asyncio.Lock()
        self._obey()
        signals = (signal.SIGTERM, signal.SIGINT) if threading.current_thread() is threading.main_thread() else ()
        before = [(one, signal.signal(one, lambda *_: self.stop())) for one in signals]
        loops: list[asyncio.Task[None]] = []
        try:
            restored = [TaskRun(self, cast(Task, report), report) for report in self.outbox.open()]
            registering = asyncio.ensure_future(self._register(0, restored))
            await self._first(registering, self._stopping)
            if not registering.cancel():
                registering.result()
                for run in restored:
                    self._start(run)
                loops = [asyncio.ensure_future(self._send_heartbeats()), asyncio.ensure_future(self._claim_tasks())]
                stopping = asyncio.ensure_future(self._stopping.wait())
                ended, _ = await asyncio.wait([stopping, *loops], return_when=asyncio.FIRST_COMPLETED)
                for work in ended:
                    work.result()  # A loop that fails ends the agent: it would only seem to work.
                await self._drain(loops[1])
        finally:
            for loop in loops:
                loop.cancel()
            self.outbox.close()
            self.handlers.close()
            await self._transport.http.aclose()
            for one, handler in before:
                signal.signal(one, handler)

    async def _drain(self, claiming: asyncio.Task[None]) -> None:
        """Lets the tasks end, tells their handlers to stop, reports those that do not, and unregisters."""
        if count := len(self._works):
            self.say(f"stopping, when {'its task has' if count == 1 else f'its {count} tasks have'} ended")
        for number in range(LAST_HEARTBEATS):
            if number == 0 or not claiming.done():
                await within(LAST_CALL_SECONDS, self._beat())
        claiming.cancel()
        works = [work for _, work in self._works.values()]
        ended = asyncio.ensure_future(asyncio.wait(works) if works else asyncio.sleep(0))
        await within(self._options.get("drain_seconds", 30.0), self._first(ended, self._hurrying))
        self._hurrying.set()
        for run, _ in self._works.values():
            run.stop("agent_stopped", STOPPED, False)
        await asyncio.wait([ended], timeout=self._options.get("grace_seconds", 2.0))
        left = [run.abandon() for run, _ in self._works.values() if not run.is_dropped]
        await within(LAST_CALL_SECONDS, asyncio.gather(*left, return_exceptions=True))
        try:
            await asyncio.wait_for(self.call("unregister", self._name_registration()), LAST_CALL_SECONDS)
            self.say(f"stopped: agent {self.agent_id} is unregistered")
        except (TaskGatewayError, asyncio.TimeoutError) as error:
            self.say(f"stopped, but the gateway may still have agent {self.agent_id}: {error}")

    async def _first(self, work: asyncio.Future[Any], event: asyncio.Event) -> None:
        """Waits for the work or the event."""
        waiting = asyncio.ensure_future(event.wait())
        await asyncio.wait([work, waiting], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()

    async def _claim_tasks(self) -> None:
        failures = 0
        self._count_room()
        while not self._stopping.is_set():
            await self._room.wait()
            started, known = time.monotonic(), self._registrations
            # After an outage the claim asks for an answer at once, which shows that the gateway is back.
            wait = 0.0 if self._notices.since else CLAIM_SECONDS
            try:
                task = await self.call("claim", {"wait": wait, **self._name_tasks()}, wait)
                failures = 0
                is_ours = task and task.get("agent_id") == self.agent_id and task.get("status") == "running"
                if not is_ours or task["request_id"] in self._works:
                    await asyncio.sleep(started + HELD_EVERY_SECONDS - time.monotonic())
                    continue
                self._start(TaskRun(self, task))
                if not self._room.is_set():
                    # A full agent sends no claim, so a heartbeat names its last task.
                    await self._beat()
            except TaskGatewayError as error:
                if error.code == "agent_not_found":
                    await self._register_again(known)
                await asyncio.sleep(choose_pause(0.5, 10.0, failures, asked_seconds(error)))
                failures += 1

    def _start(self, run: TaskRun) -> None:
        work = asyncio.ensure_future(run.work())
        self._works[run.request_id] = run, work
        self._count_room()

        def end(_: object) -> None:
            del self._works[run.request_id]
            self._count_room()
            if not work.cancelled() and (error := work.exception()):
                self.say(f"task {run.request_id} was left without an end: {error!r}")

        work.add_done_callback(end)

    def _count_room(self) -> None:
        (self._room.set if len(self._works) < self._slots else self._room.clear)()

    async def _register(self, known: int, restored: list[TaskRun] | None = None) -> None:
        """Registers the agent, unless it has registered since it had `known` registrations."""
        async with self._registering:
            if self._registrations != known:
                return
            about = {"endpoint": "pull", "agent_tags": self._tags, "max_concurrent": self._slots}
            about |= {"lost_after": self._options.get("lost_after_seconds", 120.0), **self._name_tasks(restored)}
            receipt = await self.persist("register", about, 1.0, 10.0)
            self._token = receipt.get("registration")
            self._interval = min(max(receipt.get("heartbeat_interval") or 15.0, 1.0), 3600.0)
            self._registrations, self._is_replaced = known + 1, False
            tags = f"the {'tag' if len(self._tags) == 1 else 'tags'} {', '.join(self._tags[:8])}"
            slots = "1 slot" if self._slots == 1 else f"{self._slots} slots"
            where = f"agent {self.agent_id} is registered at {self._transport.base_url}"
            self.say(f"{'registered again' if known else 'ready'}: {where} with {tags} and {slots}")
        if self._stopping.is_set():
            await self._beat()

    async def _register_again(self, known: int) -> None:
        # `call` has said the failure, and the next call that finds the agent unknown tries again.
        with suppress(TaskGatewayError):
            await self._register(known)

    async def _send_heartbeats(self) -> None:
        while True:
            await asyncio.sleep(self._interval * random.uniform(0.9, 1.1))
            await self._beat()

    async def _beat(self) -> None:
        known = self._registrations
        more = {"draining": True} if self._stopping.is_set() else {}
        try:
            receipt = await self.call("heartbeat", {**self._name_tasks(), **self._name_registration(), **more})
            is_replaced = bool(receipt.get("replaced"))
            if is_replaced and not self._is_replaced:
                another = f"another process has registered as agent {self.agent_id}, and replaces this one"
                self.say(f"{another}: stop one of them, or give each an agent_id of its own")
            self._is_replaced = is_replaced
        except TaskGatewayError as error:
            if error.code == "agent_not_found" and not more:
                await self._register_again(known)

    def _name_tasks(self, restored: list[TaskRun] | None = None) -> dict[str, Any]:
        """Names the tasks that the agent works on."""
        runs = restored or [run for run, _ in self._works.values()]
        return {"request_ids": [run.request_id for run in runs if run.is_wanted]}

    def _name_registration(self) -> dict[str, Any]:
        return {"registration": self._token} if self._token else {}

    async def call(self, name: str, body: dict[str, Any], held_seconds: float = 0.0) -> Any:
        """Makes one attempt. Says when the gateway can't be used, and when it can be used again."""
        seconds = HURRIED_SECONDS if self._hurrying.is_set() else None
        fields, body = FIELDS.get(name, {"ok": bool}), {"agent_id": self.agent_id, **body}
        limits: Any = {"held_seconds": held_seconds, "seconds": seconds, "max_retries": 0}
        try:
            value, headers = await self._transport.exchange("POST", f"/api/agent/{name}", fields, body=body, **limits)
        except TaskGatewayError as error:
            self._notices.note_failure(name, error)
            raise
        self._notices.note_response(self._registrations == 0)
        if name in ("register", "heartbeat", "claim"):
            receipt = {"state": headers.get("agent-state")} if name == "claim" else value
            if not self._stopping.is_set():
                self._notices.note_state(receipt.get("state"))
            for request_id in receipt.get("cancelled_request_ids", []):
                if request_id in self._works:
                    self._works[request_id][0].drop()
        return value

    async def persist(
        self, name: str, body: dict[str, Any], first: float, longest: float,
        is_last: Callable[[], bool] = lambda: False, held_seconds: float = 0.0,
    ) -> Any:
        """Makes a call until the gateway has answered it. Raises what a repeat can't solve.

        Once `is_last`, the result of a task waits for the call: then the gateway may fail at it less often.
        """
        failures = faults = 0
        while True:
            known = self._registrations
            try:
                return await self.call(name, body, held_seconds)
            except InvalidOptionError:
                raise
            except TaskGatewayError as error:
                if error.code == "agent_not_found":
                    await self._register_again(known)
                elif isinstance(error, ApiError):
                    is_from_gateway = error.problem is not None or error.status == 413
                    is_refused = error.status in REFUSED_STATUSES and error.code != "route_not_found"
                    if (is_refused and is_from_gateway) or (name == "register" and not is_transient(error)):
                        raise
                    faults += error.problem is not None and (error.status == 500 or is_last())
                if faults >= (LAST_FAULTS_MAX if is_last() else FAULTS_MAX) or (is_last() and self._hurrying.is_set()):
                    raise
                pause = choose_pause(first, longest, failures, asked_seconds(error))
                failures += 1
            if self._hurrying.is_set():
                await asyncio.sleep(min(pause, 0.5))
            else:
                await within(pause, self._hurrying.wait())


async def within(seconds: float, work: Awaitable[Any]) -> None:
    """Waits for the work, at most this many seconds."""
    with suppress(asyncio.TimeoutError):
        await asyncio.wait_for(work, seconds)


def run_agent(handler: SyncHandler | AsyncHandler, *, tags: list[str], **options: Unpack[AgentOptions]) -> None:
    """Makes the process an agent: it works on tasks with one of the tags, until SIGTERM or SIGINT.

    The handler gets a task and its context; it returns the result, a text (its `output`) or None, and what it
    raises is the error of the task. A second signal does not wait for the tasks. Raises what a repeat can't
    solve, such as a wrong secret.
    """
    Agent(handler, tags=tags, **options).run()
