"""Where handlers run, and what they know of their task.

One that is a plain function runs in a thread for each task; those that are coroutine functions share a loop.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar, cast

from .contract import AnswerSchema
from .contract import TaskInfo as Task
from .errors import WorkStoppedError

if TYPE_CHECKING:
    from .work import TaskRun

T = TypeVar("T")
#: What a handler returns: the result, a text that becomes its `output`, or nothing.
Result = dict[str, Any] | str | None
SyncHandler = Callable[[Task, "Context"], Result]
AsyncHandler = Callable[[Task, "AsyncContext"], Awaitable[Result]]


class HandlerContext:
    """The context that a handler gets with its task."""

    def __init__(self, run: TaskRun) -> None:
        self._run = run
        #: Set when the handler should stop: `stopped.wait(1)` sleeps for a second, or until then.
        self.stopped = run.stopped

    @property
    def reason(self) -> WorkStoppedError | None:
        """Why the handler should stop."""
        return self._run.reason

    def progress(self, percent: float) -> None:
        """Reports the progress, 0 to 100. It never falls."""
        self._run.loop.call_soon_threadsafe(self._run.note_progress, percent)

    def _start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._run.loop)


class Context(HandlerContext):
    """The second argument of a plain function."""

    def write(self, piece: str | dict[str, Any]) -> None:
        """Adds a text, or data, to the task's output. Returns when there is room for more."""
        self._start(self._run.output.write(piece)).result()

    def ask(self, prompt: str, schema: AnswerSchema | None = None, *, key: str | None = None) -> Any:
        """Asks the task's clients. Returns the answer; raises `WorkStoppedError` when it should stop."""
        return self._start(self._run.ask(prompt, schema, key)).result()


class AsyncContext(HandlerContext):
    """The second argument of a coroutine function, which is cancelled when it should stop."""

    async def write(self, piece: str | dict[str, Any]) -> None:
        """Adds a text, or data, to the task's output. Returns when there is room for more."""
        await asyncio.wrap_future(self._start(self._run.output.write(piece)))

    async def ask(self, prompt: str, schema: AnswerSchema | None = None, *, key: str | None = None) -> Any:
        """Asks the task's clients. Returns the answer."""
        return await asyncio.wrap_future(self._start(self._run.ask(prompt, schema, key)))


class Handlers:
    """The handlers of one agent that run."""

    def __init__(self, handler: SyncHandler | AsyncHandler) -> None:
        self._handler = handler
        self._loop: asyncio.AbstractEventLoop | None = None
        if inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(getattr(handler, "__call__", None)):
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=self._loop.run_forever, name="handlers", daemon=True).start()

    def start(self, run: TaskRun, end: Callable[[Any, BaseException | None], None]) -> Callable[[], Any]:
        """Starts the handler; `end` gets what it returns or raises. Returns what cancels it."""
        loop, tasks = self._loop, list[Any]()
        if loop is None:

            def work() -> None:
                try:
                    end(cast(SyncHandler, self._handler)(run.task, Context(run)), None)
                except BaseException as error:
                    end(None, error)

            threading.Thread(target=work, name=f"task {run.request_id}", daemon=True).start()
            return lambda: None

        async def await_work() -> None:
            tasks.append(asyncio.current_task())
            try:
                end(await cast(AsyncHandler, self._handler)(run.task, AsyncContext(run)), None)
            except BaseException as error:
                end(None, error)

        asyncio.run_coroutine_threadsafe(await_work(), loop)
        return lambda: loop.call_soon_threadsafe(lambda: [task.cancel() for task in tasks])

    def close(self) -> None:
        """Ends the loop of the coroutines."""
        if self._loop:
            self._loop.call_soon_threadsafe(self._loop.stop)
