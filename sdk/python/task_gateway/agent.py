"""An agent in one call: it registers, sends heartbeats, claims tasks, runs the handler and reports the outcomes.

The calls are made in a loop that no handler holds up: one that is a plain function runs in a thread for each
task, and one that is a coroutine function in a second loop.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import random
import signal
import sys
import threading
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, cast

from .contract import TaskInfo
from .errors import ApiError, InvalidOptionError, TaskGatewayError
from .outbox import Outbox
from .transport import ClientOptions, Request, Transport, asked_seconds, choose_pause, is_transient
from .work import STOPPED, AsyncContext, AsyncHandler, Context, SyncHandler, TaskRun

if TYPE_CHECKING:
    from typing_extensions import Unpack

CLAIM_SECONDS = 20.0
HELD_EVERY_SECONDS = 1.0
SAY_EVERY_SECONDS = 60.0
#: The time for each of the last calls of an agent that stops, and for an attempt at that time.
LAST_CALL_SECONDS, HURRIED_SECONDS = 5.0, 2.0
#: How many heartbeats the last claim outlasts: a task that it still brings must not be lost.
LAST_HEARTBEATS = 3
#: With these the gateway refuses the call itself: the same one would be refused again.
REFUSED_STATUSES = (400, 404, 413, 415, 422)
#: How often the gateway may fail at a call that ends a task, and at one that the end waits for.
FAULTS_MAX, LAST_FAULTS_MAX = 20, 10
REQUEST_IDS_MAX = 1_000
#: The fields of a response; of all others it is `ok`.
FIELDS: dict[str, dict[str, Any]] = {
    "claim": {"request_id": str, "payload": dict, "timeout": (int, float)},
    "answer": {"key": str},
}


class AgentOptions(ClientOptions, total=False):
    """What an agent takes beside its handler and its tags."""

    agent_id: str  #: `TASK_GATEWAY_AGENT_ID`; a random one without it.
    max_concurrent: int  #: How many tasks it works on at once: 1.
    outbox: str  #: A file of its own, for the outcomes that the gateway does not have yet.
    lost_after_seconds: float  #: After so long without contact its tasks fail: 120; at least 3.
    drain_seconds: float  #: How long its tasks may go on when it stops: 30.
    grace_seconds: float  #: How long a handler may take to end after it was told to stop: 2.
    say: Callable[[str], None]  #: Takes each sentence for a person; prints on standard error without it.


class Agent:
    """An agent that claims its tasks."""

    def __init__(
        self, handler: SyncHandler | AsyncHandler, *, tags: list[str], **options: Unpack[AgentOptions]
    ) -> None:
        self._handler, self._options, self._tags = handler, options, tags
        self._is_async = inspect.iscoroutinefunction(handler)
        self.agent_id = options.get("agent_id") or os.environ.get("TASK_GATEWAY_AGENT_ID") or f"python-{uuid.uuid4()}"
        self._slots = options.get("max_concurrent", 1)
        self._transport = Transport(options)
        self.outbox = Outbox(options.get("outbox"), self.say)
        self._runs: dict[str, TaskRun] = {}
        self._works: dict[asyncio.Task[None], TaskRun] = {}
        self._token: str | None = None
        self._registrations = 0
        self._interval = 15.0
        self._since: float | None = None
        self._said: dict[str, float] = {}
        self._is_drained = self._is_replaced = False
        self._stops = 0
        self._loop: asyncio.AbstractEventLoop | None = None

    def say(self, text: str, repeats: str = "") -> None:
        """Says a sentence to the person who runs the agent; what `repeats` itself at most once a minute."""
        now = time.monotonic()
        if repeats and now - self._said.get(repeats, -SAY_EVERY_SECONDS) < SAY_EVERY_SECONDS:
            return
        if repeats:
            self._said = dict(list(self._said.items())[-100:])
            self._said[repeats] = now
        if "say" in self._options:
            self._options["say"](text)
        elif os.environ.get("TASK_GATEWAY_LOG") != "off":
            print_on_stderr(text)

    def run(self) -> None:
        """Runs the agent until `stop` or a signal (SIGTERM, SIGINT); a second one does not wait for its tasks."""
        asyncio.run(self._serve())

    def stop(self) -> None:
        """Stops the agent, from any thread: it finishes its tasks. Another call ends them."""
        self._stops += 1
        if self._loop:
            self._loop.call_soon_threadsafe(self._obey)

    def _obey(self) -> None:
        if self._stops > 0:
            self._stopping.set()
        if self._stops > 1:
            self._hurrying.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping, self._hurrying, self._room = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._registering = asyncio.Lock()
        self._handlers = asyncio.new_event_loop()
        if self._is_async:
            threading.Thread(target=self._handlers.run_forever, name="handlers", daemon=True).start()
        before = {}
        if threading.current_thread() is threading.main_thread():
            before = {one: signal.signal(one, lambda *_: self.stop()) for one in (signal.SIGTERM, signal.SIGINT)}
        loops: list[asyncio.Task[None]] = []
        self._obey()
        try:
            restored = [TaskRun(self, cast(TaskInfo, report), report) for report in self.outbox.open()]
            self._runs = {run.request_id: run for run in restored}
            if not await self._register_first():
                return
            for run in restored:
                self._start(run)
            self._free()
            claiming = self._loop.create_task(self._claim_tasks())
            loops += [self._loop.create_task(self._send_heartbeats()), claiming]
            await self._stopping.wait()
            await self._drain(claiming)
        finally:
            for loop in loops:
                loop.cancel()
            self.outbox.close()
            await self._transport.http.aclose()
            self._handlers.call_soon_threadsafe(self._handlers.stop)
            for one, handler in before.items():
                signal.signal(one, handler)

    async def _register_first(self) -> bool:
        """Whether the agent is registered; if it is stopped meanwhile, it is not."""
        registering = asyncio.ensure_future(self._register(0))
        stopping = asyncio.ensure_future(self._stopping.wait())
        await asyncio.wait([registering, stopping], return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if registering.done():
            registering.result()
            return True
        registering.cancel()
        return False

    async def _drain(self, claiming: asyncio.Task[None]) -> None:
        """Lets the tasks end, then tells their handlers to stop, reports those that do not, and unregisters."""
        if count := len(self._runs):
            self.say(f"stopping, when {'its task has' if count == 1 else f'its {count} tasks have'} ended")
        for _ in range(LAST_HEARTBEATS):
            await within(LAST_CALL_SECONDS, self._beat())
            if claiming.done():
                break
        claiming.cancel()
        hurrying = asyncio.ensure_future(self._hurrying.wait())
        await self._wait_for_works(self._options.get("drain_seconds", 30.0), hurrying)
        self._hurrying.set()
        for run in self._runs.values():
            run.stop("agent_stopped", STOPPED, False)
        await self._wait_for_works(self._options.get("grace_seconds", 2.0))
        left = [run.abandon() for run in self._runs.values() if not run.is_dropped]
        await within(LAST_CALL_SECONDS, asyncio.gather(*left, return_exceptions=True))
        try:
            await asyncio.wait_for(self.call("unregister", self._name_registration()), LAST_CALL_SECONDS)
            self.say(f"stopped: agent {self.agent_id} is unregistered")
        except (TaskGatewayError, asyncio.TimeoutError) as error:
            self.say(f"stopped, but the gateway has not confirmed that agent {self.agent_id} is gone: {error}")

    async def _wait_for_works(self, seconds: float, hurrying: asyncio.Future[Any] | None = None) -> None:
        if self._works:
            ended = asyncio.ensure_future(asyncio.wait(list(self._works)))
            await asyncio.wait([ended, *([hurrying] if hurrying else [])], timeout=seconds, return_when="FIRST_COMPLETED")
            ended.cancel()

    # Tasks: claimed, started, and their slots freed.

    async def _claim_tasks(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            await self._room.wait()
            started, known = time.monotonic(), self._registrations
            # While the gateway was not there, the answer should come at once and say that it is back.
            wait = 0.0 if self._since else CLAIM_SECONDS
            ids = list(self._runs)[-REQUEST_IDS_MAX:]
            try:
                task = await self.call("claim", {"wait": wait, "request_ids": ids}, wait)
                failures = 0
                if task is None or not self._take(task):
                    await asyncio.sleep(started + HELD_EVERY_SECONDS - time.monotonic())
                elif not self._room.is_set():
                    # No claim names the last task that there is room for.
                    await self._beat()
            except TaskGatewayError as error:
                if error.code == "agent_not_found":
                    await self._register_again(known)
                await asyncio.sleep(choose_pause(0.5, 10.0, failures, asked_seconds(error)))
                failures += 1

    def _take(self, task: TaskInfo) -> bool:
        """Whether the task is new, and this agent's."""
        if task["request_id"] in self._runs or task["agent_id"] != self.agent_id or task["status"] != "running":
            return False
        self._start(TaskRun(self, task))
        return True

    def _start(self, run: TaskRun) -> None:
        self._runs[run.request_id] = run
        work = asyncio.ensure_future(run.work())
        self._works[work] = run
        work.add_done_callback(self._free)
        self._free()

    def _free(self, work: asyncio.Task[None] | None = None) -> None:
        if work:
            self._runs.pop(self._works.pop(work).request_id, None)
            if not work.cancelled() and (error := work.exception()):
                self.say(f"a task was left without an end: {error!r}")
        if len(self._runs) < self._slots:
            self._room.set()
        else:
            self._room.clear()

    def start_handler(self, run: TaskRun, end: Callable[..., None]) -> Callable[[], Any]:
        """Starts the handler; `end` gets what it returns or raises. Returns what cancels it."""
        assert self._loop is not None
        if not self._is_async:
            context, plain = Context(run, self._loop), cast(SyncHandler, self._handler)

            def work() -> None:
                try:
                    end(plain(run.task, context))
                except BaseException as error:
                    end(None, error)

            threading.Thread(target=work, name=f"task {run.request_id}", daemon=True).start()
            return lambda: None
        tasks: list[asyncio.Task[None]] = []
        handler, awaited = cast(AsyncHandler, self._handler), AsyncContext(run, self._loop)

        async def work_async() -> None:
            tasks.append(cast("asyncio.Task[None]", asyncio.current_task()))
            try:
                end(await handler(run.task, awaited))
            except BaseException as error:
                end(None, error)

        asyncio.run_coroutine_threadsafe(work_async(), self._handlers)
        return lambda: self._handlers.call_soon_threadsafe(lambda: [task.cancel() for task in tasks])

    # The registration and its heartbeats.

    async def _register(self, known: int) -> None:
        """Registers the agent, unless it has registered since it had `known` registrations."""
        async with self._registering:
            if self._registrations != known:
                return
            about = {"endpoint": "pull", "agent_tags": self._tags, "max_concurrent": self._slots}
            about["lost_after"] = self._options.get("lost_after_seconds", 120.0)
            receipt = await self.persist("register", {**about, **self._name_tasks()}, 1.0, 10.0)
            again = "registered again" if self._registrations else "ready"
            self._token, self._registrations = receipt.get("registration"), self._registrations + 1
            self._interval = min(max(receipt.get("heartbeat_interval") or 15.0, 1.0), 3600.0)
            tags = f"the {'tag' if len(self._tags) == 1 else 'tags'} {', '.join(self._tags[:8])}"
            slots = "1 slot" if self._slots == 1 else f"{self._slots} slots"
            where = f"agent {self.agent_id} is registered at {self._transport.base_url}"
            self.say(f"{again}: {where} with {tags} and {slots}, and claims its tasks")
            self._is_replaced = False
        if self._stopping.is_set():
            await self._beat()

    async def _register_again(self, known: int) -> None:
        try:
            await self._register(known)
        except TaskGatewayError:
            pass  # It was said, and the next heartbeat tries again.

    async def _send_heartbeats(self) -> None:
        while True:
            await asyncio.sleep(self._interval * random.uniform(0.9, 1.1))
            await self._beat()

    async def _beat(self) -> None:
        known = self._registrations
        more = {"draining": True} if self._stopping.is_set() else {}
        try:
            receipt = await self.call("heartbeat", {**self._name_tasks(), **self._name_registration(), **more})
            if receipt.get("replaced") and not self._is_replaced:
                self.say(
                    f"another process has registered as agent {self.agent_id}, and replaces this one: "
                    "stop one of them, or give each an agent_id of its own"
                )
            self._is_replaced = bool(receipt.get("replaced"))
        except TaskGatewayError as error:
            if error.code == "agent_not_found" and not self._stopping.is_set():
                await self._register_again(known)

    def _name_tasks(self) -> dict[str, Any]:
        """Names the tasks that this agent has; too many are left to the gateway's own record."""
        ids = [run.request_id for run in self._runs.values() if run.is_wanted]
        return {"request_ids": ids} if len(ids) <= REQUEST_IDS_MAX else {}

    def _name_registration(self) -> dict[str, Any]:
        return {"registration": self._token} if self._token else {}

    # Calls.

    async def call(self, name: str, body: dict[str, Any], held_seconds: float = 0.0) -> Any:
        """Makes one attempt, and says when the gateway can't be used, and when it can be used again."""
        request = Request(
            "POST",
            f"/api/agent/{name}",
            body={"agent_id": self.agent_id, **body},
            held_seconds=held_seconds,
            timeout_seconds=HURRIED_SECONDS if self._hurrying.is_set() else None,
            max_retries=0,
        )
        try:
            value, headers = await self._transport.exchange(request, FIELDS.get(name, {"ok": bool}))
        except TaskGatewayError as error:
            self._miss(name, error)
            raise
        if self._since and self._registrations:
            self.say(f"the gateway at {self._transport.base_url} responds again, after {time.monotonic() - self._since:.0f} s")
        self._since = None
        if name in ("register", "heartbeat", "claim"):
            receipt = value if name != "claim" else {"state": headers.get("agent-state")}
            self._note_state(receipt.get("state"))
            for request_id in receipt.get("cancelled_request_ids", []):
                if run := self._runs.get(request_id):
                    run.drop()
        return value

    def _note_state(self, state: str | None) -> None:
        if state not in ("ready", "processing", "draining") or self._stopping.is_set():
            return
        if (is_drained := state == "draining") != self._is_drained:
            self._is_drained = is_drained
            drained = "drained by the administrator: it finishes its tasks and gets no others"
            self.say(drained if is_drained else "no longer drained by the administrator: it gets tasks again")

    def _miss(self, name: str, error: TaskGatewayError) -> None:
        is_proxy = isinstance(error, ApiError) and error.problem is None and error.status in (502, 503, 504)
        if not is_proxy and error.code not in ("connection_failed", "timeout"):
            self.say(f"{name}: {error}", f"{name}: {error}")
        elif name != "unregister":
            self._since = self._since or time.monotonic()
            self.say(f"{error} The agent keeps trying.", "outage")

    async def persist(
        self,
        name: str,
        body: dict[str, Any],
        first: float,
        longest: float,
        is_last: Callable[[], bool] = lambda: False,
        held_seconds: float = 0.0,
    ) -> Any:
        """Makes a call until the gateway has answered it. Raises what a repeat can't solve.

        Once `is_last`, the result of a task waits for the call: then it may fail less often.
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
                elif isinstance(error, ApiError) and not is_transient(error):
                    is_from_gateway = error.problem is not None or error.status == 413
                    is_refused = error.status in REFUSED_STATUSES and error.code != "route_not_found"
                    if name == "register" or (is_from_gateway and is_refused):
                        raise
                elif isinstance(error, ApiError) and error.problem and (error.status == 500 or is_last()):
                    faults += 1
                if faults >= (LAST_FAULTS_MAX if is_last() else FAULTS_MAX):
                    raise
                if is_last() and self._hurrying.is_set():
                    raise
                pause = choose_pause(first, longest, failures, asked_seconds(error))
                failures += 1
            if self._hurrying.is_set():
                await asyncio.sleep(min(pause, 0.5))
            else:
                await within(pause, self._hurrying.wait())


async def within(seconds: float, work: Awaitable[Any]) -> None:
    """Waits for the work, for so long at most."""
    try:
        await asyncio.wait_for(work, seconds)
    except asyncio.TimeoutError:
        pass


def print_on_stderr(text: str) -> None:
    """Prints a sentence; what a terminal would obey is escaped."""
    shown = "".join(one if one.isprintable() or one == "\n" else repr(one)[1:-1] for one in text)
    print(shown, file=sys.stderr, flush=True)


def run_agent(handler: SyncHandler | AsyncHandler, *, tags: list[str], **options: Unpack[AgentOptions]) -> None:
    """Makes the process an agent: works on tasks with one of the tags, until SIGTERM or SIGINT.

    The handler gets the task and a context; it returns the result, a text (its `output`) or None. What it
    raises is the error of the task. Raises what a repeat can't solve, such as a wrong secret.
    """
    Agent(handler, tags=tags, **options).run()
