"""An agent in one call: it registers, sends heartbeats, claims tasks, runs the handler, reports outcomes."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import random
import signal
import sqlite3
import sys
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from .contract import TaskInfo
from .errors import InvalidOptionError, TaskGatewayError
from .transport import ClientOptions, Transport, choose_pause
from .work import Handler, TaskRun

if TYPE_CHECKING:
    from typing_extensions import Unpack

CLAIM_SECONDS, HELD_EVERY_SECONDS = 20.0, 1.0
#: How long each of the last calls of an agent that stops may take; and before what it says is said again.
LAST_CALL_SECONDS, SAY_EVERY_SECONDS = 5.0, 60.0
FIELDS: Any = {"claim": {"request_id": str, "payload": dict, "timeout": (int, float)}, "answer": {"key": str}}


class Outbox:
    """The outcomes of one agent, in an SQLite file that one process at a time uses, or in memory."""

    def __init__(self, path: str | None, say: Callable[[str], Any]) -> None:
        self._path, self._say = path or ":memory:", say
        try:
            if path:
                # Only the owner can read the file.
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            self._db = sqlite3.connect(self._path, isolation_level=None, timeout=0)
            self._db.executescript(
                "PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = FULL; BEGIN EXCLUSIVE;"
                "CREATE TABLE IF NOT EXISTS kept (request_id TEXT PRIMARY KEY, report TEXT); COMMIT"
            )
            #: What an earlier process left in the file.
            self.left = [json.loads(report) for (report,) in self._db.execute("SELECT report FROM kept")]
        except (sqlite3.Error, OSError, ValueError) as error:
            what = f"The outbox {self._path} can't be used: {error}."
            raise InvalidOptionError(f"{what} Each agent needs a file of its own.") from error

    def keep(self, report: dict[str, Any]) -> None:
        """Keeps an outcome; it is on disk when this returns."""
        self._write("INSERT OR REPLACE INTO kept VALUES (?, ?)", report["request_id"], json.dumps(report))

    def remove(self, request_id: str) -> None:
        """Removes an outcome."""
        self._write("DELETE FROM kept WHERE request_id = ?", request_id)

    def _write(self, statement: str, *values: str) -> None:
        try:
            self._db.execute(statement, values)
        except sqlite3.Error as error:
            self._say(f"the outbox {self._path} can't be written: {error}")


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

    coroutines: asyncio.AbstractEventLoop | None = None  #: The loop of handlers that are coroutine functions.
    _loop: asyncio.AbstractEventLoop | None = None
    _registrations, _interval, _is_out, _is_drained = 0, 15.0, False, False

    def __init__(self, handler: Handler, *, tags: list[str], **options: Unpack[AgentOptions]) -> None:
        self.handler, self._options, self._tags = handler, options, tags
        self._slots = options.get("max_concurrent", 1)
        self.agent_id = options.get("agent_id") or os.environ.get("TASK_GATEWAY_AGENT_ID") or f"python-{uuid.uuid4()}"
        self._transport = Transport(options)
        self.runs, self._said, self._token = dict[str, TaskRun](), dict[str, float](), dict[str, str]()
        self._stopping, self._hurrying, self._registering = asyncio.Event(), asyncio.Event(), asyncio.Lock()

    def run(self) -> None:
        """Runs the agent until `stop` or a signal (SIGTERM, SIGINT)."""
        asyncio.run(self._serve())

    def stop(self) -> None:
        """Stops the agent, from any thread: it finishes its tasks. A second call does not wait for them."""
        with suppress(RuntimeError):  # It has stopped.
            self._loop.call_soon_threadsafe(self._obey) if self._loop else self._obey()

    def _obey(self) -> None:
        (self._hurrying if self._stopping.is_set() else self._stopping).set()

    def say(self, text: str, kind: str = "") -> None:
        """Says a sentence; one of a kind at most once a minute."""
        if kind and time.monotonic() - self._said.get(kind, -SAY_EVERY_SECONDS) < SAY_EVERY_SECONDS:
            return
        self._said[kind] = time.monotonic()
        if say := self._options.get("say"):
            say(text)
        elif os.environ.get("TASK_GATEWAY_LOG") != "off":
            # Escapes what a terminal would obey.
            shown = [one if one.isprintable() or one == "\n" else repr(one)[1:-1] for one in text]
            print("".join(shown), file=sys.stderr, flush=True)

    async def _serve(self) -> None:
        self._loop, handler = asyncio.get_running_loop(), self.handler
        if inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(getattr(handler, "__call__", None)):
            self.coroutines = asyncio.new_event_loop()
            threading.Thread(target=self.coroutines.run_forever, name="handlers", daemon=True).start()
        for one in (signal.SIGTERM, signal.SIGINT):
            with suppress(RuntimeError, ValueError, NotImplementedError):  # In another thread, or on Windows.
                self._loop.add_signal_handler(one, self._obey)
        try:
            self.outbox = Outbox(self._options.get("outbox"), self.say)
            stopping = asyncio.ensure_future(self._stopping.wait())
            for report in self.outbox.left:
                self.runs[report["request_id"]] = TaskRun(self, cast(TaskInfo, report), report)
            registering = asyncio.ensure_future(self._register(0))
            await asyncio.wait([stopping, registering], return_when=asyncio.FIRST_COMPLETED)
            if not registering.cancel():
                registering.result()
            claiming = asyncio.ensure_future(self._claim_tasks())
            works: list[asyncio.Future[Any]] = [stopping, claiming, asyncio.ensure_future(self._send_heartbeats())]
            ended, _ = await asyncio.wait(works, return_when=asyncio.FIRST_COMPLETED)
            for work in ended:
                work.result()  # A loop that fails ends the agent: it would only seem to work.
            await self._drain(claiming)
        finally:
            if self.coroutines:
                self.coroutines.call_soon_threadsafe(self.coroutines.stop)
            await self._transport.http.aclose()

    async def _drain(self, claiming: asyncio.Future[None]) -> None:
        """Lets the tasks end, tells their handlers to stop, reports those that do not, and unregisters."""
        if count := len(self.runs):
            self.say(f"stopping, when {'its task has' if count == 1 else f'its {count} tasks have'} ended")
        for _ in range(3 if self._registrations else 0):
            # Three round trips: a task that the gateway gave to the last claim has arrived by then.
            await asyncio.wait([asyncio.ensure_future(self._beat())], timeout=LAST_CALL_SECONDS)
        claiming.cancel()
        runs, limit = list(self.runs.values()), self._options.get("drain_seconds", 30.0)
        works: asyncio.Future[Any] = asyncio.gather(*(run.working for run in runs), return_exceptions=True)
        hurrying: asyncio.Future[Any] = asyncio.ensure_future(self._hurrying.wait())
        await asyncio.wait([works, hurrying], timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        for run in runs:
            run.stop("agent_stopped", "the agent was stopped before the task was done")
        await asyncio.wait([works], timeout=self._options.get("grace_seconds", 2.0))
        for run in runs:
            run.end(None, run.context.reason)
        await asyncio.wait([works], timeout=LAST_CALL_SECONDS)
        try:
            await asyncio.wait_for(self.call("unregister", self._token), LAST_CALL_SECONDS)
            self.say(f"stopped: agent {self.agent_id} is unregistered")
        except (TaskGatewayError, asyncio.TimeoutError) as error:
            self.say(f"stopped, but the gateway may still have agent {self.agent_id}: {error}")

    async def _claim_tasks(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            if len(self.runs) >= self._slots:
                await asyncio.wait([run.working for run in self.runs.values()], return_when=asyncio.FIRST_COMPLETED)
                continue
            started = time.monotonic()
            try:
                task = await self.call("claim", {"wait": CLAIM_SECONDS, **self._name_tasks()}, CLAIM_SECONDS)
                failures = 0
                if not task or task["request_id"] in self.runs:
                    await asyncio.sleep(started + HELD_EVERY_SECONDS - time.monotonic())
                    continue
                self.runs[task["request_id"]] = TaskRun(self, task)
                if len(self.runs) >= self._slots:
                    await self._beat()  # It names the last task: a full agent sends no claim.
            except TaskGatewayError as error:
                await asyncio.sleep(choose_pause(0.5, 10.0, failures, error.asked_seconds))
                failures += 1

    async def _register(self, known: int) -> None:
        """Registers the agent, unless it has registered since it had `known` registrations."""
        async with self._registering:
            if self._registrations != known:
                return
            about = {"endpoint": "pull", "agent_tags": self._tags, "max_concurrent": self._slots}
            about |= {"lost_after": self._options.get("lost_after_seconds", 120.0), **self._name_tasks()}
            receipt = await self.call("register", about, is_lasting=True)
            self._token = {"registration": receipt["registration"]} if receipt.get("registration") else {}
            self._interval = min(max(receipt.get("heartbeat_interval") or 15.0, 1.0), 3600.0)
            self._registrations = known + 1
            where = f"agent {self.agent_id} is registered at {self._transport.base_url}"
            self.say(f"{'registered again' if known else 'ready'}: {where} with tags {', '.join(self._tags[:8])}")
        if self._stopping.is_set():
            await self._beat()

    async def _send_heartbeats(self) -> None:
        while True:
            await asyncio.sleep(self._interval * random.uniform(0.9, 1.1))
            await self._beat()

    async def _beat(self) -> None:
        about = {**self._name_tasks(), **self._token, "draining": self._stopping.is_set()}
        with suppress(TaskGatewayError):
            receipt = await self.call("heartbeat", about)
            if receipt.get("replaced"):
                way = "stop one of them, or give each an agent_id of its own"
                self.say(f"another process replaces this one as agent {self.agent_id}: {way}", "replaced")

    def _name_tasks(self) -> dict[str, Any]:
        return {"request_ids": [run.request_id for run in self.runs.values() if not run.is_dropped]}

    async def call(self, name: str, body: dict[str, Any], held_seconds: float = 0.0, is_lasting: bool = False) -> Any:
        """Makes one attempt; if it is lasting, until there is an answer. Raises what a repeat can't solve."""
        fields, body = FIELDS.get(name, {"ok": bool}), {"agent_id": self.agent_id, **body}
        path, failures, faults = f"/api/agent/{name}", 0, 0
        while True:
            known = self._registrations
            try:
                sending = self._transport.exchange("POST", path, fields, 0, body=body, held_seconds=held_seconds)
                value, headers = await sending
                self._note_response(name, value or {}, headers.get("agent-state"))
                return value
            except TaskGatewayError as error:
                self._note_failure(name, error)
                is_problem = error.problem is not None and error.code != "route_not_found"
                is_refused = error.status == 413 or (is_problem and error.status in (400, 404, 415, 422))
                faults += is_problem and error.status == 500  # A task does not wait for ever.
                is_leaving = name == "unregister" or (name == "heartbeat" and self._stopping.is_set())
                if error.code == "agent_not_found" and name != "register" and not is_leaving:
                    with suppress(TaskGatewayError):  # The next such call tries again.
                        await self._register(known)
                    is_refused = False
                elif name == "register" and error.status and not error.is_transient:
                    raise
                if not is_lasting or is_refused or error.code == "invalid_option" or faults >= 20:
                    raise
                await asyncio.sleep(choose_pause(0.5, 10.0, failures, error.asked_seconds))
                failures += 1

    def _note_failure(self, name: str, error: TaskGatewayError) -> None:
        """Says why a call failed: at an outage once, for all calls."""
        if error.is_transient and error.problem is None and name != "unregister":
            self._is_out = True
            self.say(f"{error} The agent keeps trying.", "outage")
        elif name != "unregister":
            self.say(f"{name}: {error}", f"{name} {error.code}")

    def _note_response(self, name: str, value: dict[str, Any], state: str | None) -> None:
        """Says what has changed, and drops the tasks that the gateway no longer wants."""
        if self._is_out and self._registrations:
            self.say(f"the gateway at {self._transport.base_url} responds again", "back")
        self._is_out, state = False, value.get("state") if name in ("register", "heartbeat") else state
        if state in ("ready", "processing", "draining") and not self._stopping.is_set():
            if self._is_drained != (state == "draining"):
                self._is_drained = state == "draining"
                does = "finishes its tasks and gets no others" if self._is_drained else "gets tasks again"
                self.say(f"{'' if self._is_drained else 'no longer '}drained by the administrator: it {does}")
        for request_id in value.get("cancelled_request_ids", []):
            if request_id in self.runs:
                self.runs[request_id].stop()


def run_agent(handler: Handler, *, tags: list[str], **options: Unpack[AgentOptions]) -> None:
    """Makes the process an agent, until SIGTERM or SIGINT. Raises what a repeat can't solve."""
    Agent(handler, tags=tags, **options).run()
