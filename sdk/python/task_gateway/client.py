"""`Client`: a client of one gateway for programs without asyncio.

Its calls are those of `AsyncClient`, made in a thread of its own while the caller waits. Any thread may call it.
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from concurrent.futures import wait
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from .async_client import AsyncClient
from .transport import RELAY, ClientOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack

P = ParamSpec("P")
T = TypeVar("T")
END = object()


def waits(
    method: Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Client, P], T]:
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
        items = method(client._client, *args, **kwargs)

        async def read() -> T:
            return await anext(items, cast(T, END))

        try:
            while (item := client._wait(read())) is not END:
                yield item
        finally:
            client._wait(items.aclose())

    return call


class Client:
    """A client of one gateway, with the options of `ClientOptions`. It calls callbacks in its caller's thread."""

    def __init__(self, **options: Unpack[ClientOptions]) -> None:
        self._client = AsyncClient(**options)
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="task-gateway", daemon=True).start()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections, and ends the thread."""
        self._wait(self._client.close())
        self._loop.call_soon_threadsafe(self._loop.stop)

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Returns what the work in the thread returns. Ctrl-C cancels the work and waits for its end."""
        tasks: list[Any] = []
        jobs: SimpleQueue[Callable[[], object] | None] = SimpleQueue()

        async def relay(function: Callable[..., Any], *arguments: Any) -> Any:
            done: asyncio.Future[Any] = self._loop.create_future()

            def job() -> None:
                try:
                    self._loop.call_soon_threadsafe(done.set_result, function(*arguments))
                except Exception as error:
                    self._loop.call_soon_threadsafe(done.set_exception, error)

            jobs.put(job)
            return await done

        async def hold() -> T:
            tasks.append(asyncio.current_task())
            RELAY.set(relay)
            return await work

        future = asyncio.run_coroutine_threadsafe(hold(), self._loop)
        future.add_done_callback(lambda _: jobs.put(None))
        try:
            while job := jobs.get():
                job()
            return future.result()
        except BaseException:
            if not future.done():
                self._loop.call_soon_threadsafe(lambda: [task.cancel() for task in tasks])
                wait([future])
            raise

    submit_task = waits(AsyncClient.submit_task)
    run_task = waits(AsyncClient.run_task)
    follow_task = waits(AsyncClient.follow_task)
    wait_task = waits(AsyncClient.wait_task)
    get_task = waits(AsyncClient.get_task)
    cancel_task = waits(AsyncClient.cancel_task)
    answer_task = waits(AsyncClient.answer_task)
    explain_task = waits(AsyncClient.explain_task)
    read_output = loops(AsyncClient.read_output)
    subscribe_events = loops(AsyncClient.subscribe_events)
