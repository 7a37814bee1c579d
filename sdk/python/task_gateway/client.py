"""`Client`: a client of one gateway for programs without asyncio.

Its calls are those of `AsyncClient`, carried out in a thread of its own while the caller waits. Any thread may
call it.
"""

from __future__ import annotations

import asyncio
import functools
import os
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from concurrent.futures import wait
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from .async_client import AsyncClient
from .transport import ClientOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack

P = ParamSpec("P")
T = TypeVar("T")


def waits(
    method: Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Client, P], T]:
    """The same method for a caller who waits."""

    @functools.wraps(method)
    def call(client: Client, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return client._wait(method(client._inner(), *args, **kwargs))

    return call


def loops(
    method: Callable[Concatenate[AsyncClient, P], AsyncGenerator[T, None]],
) -> Callable[Concatenate[Client, P], Iterator[T]]:
    """The same method for a caller with a `for` loop."""

    @functools.wraps(method)
    def call(client: Client, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        items = method(client._inner(), *args, **kwargs)

        async def next_item() -> list[T]:
            return [item async for item in _first(items)]

        try:
            while item := client._wait(next_item()):
                yield item[0]
        finally:
            client._wait(items.aclose())

    return call


async def _first(items: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
    try:
        yield await anext(items)
    except StopAsyncIteration:
        pass


class Client:
    """A client of one gateway. The options are those of `ClientOptions`; callbacks are called in its thread."""

    def __init__(self, **options: Unpack[ClientOptions]) -> None:
        self._options = options
        self._client = AsyncClient(**options)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = 0
        self._lock = threading.Lock()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections, and ends the thread."""
        if self._loop and self._pid == os.getpid():
            self._wait(self._client.close())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._loop = None

    def _inner(self) -> AsyncClient:
        """The client in the thread, which is started for the first call, and again in a forked process."""
        with self._lock:
            if self._loop is None or self._pid != os.getpid():
                if self._loop is not None:
                    self._client = AsyncClient(**self._options)
                self._loop, self._pid = asyncio.new_event_loop(), os.getpid()
                threading.Thread(target=self._loop.run_forever, name="task-gateway", daemon=True).start()
            return self._client

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        """What the work in the thread returns. Ctrl-C cancels it, and waits for what it does then."""
        loop, tasks = self._loop, list[Any]()
        assert loop is not None

        async def hold() -> T:
            tasks.append(asyncio.current_task())
            return await work

        future = asyncio.run_coroutine_threadsafe(hold(), loop)
        try:
            return future.result()
        except BaseException:
            if not future.done():
                loop.call_soon_threadsafe(lambda: [task.cancel() for task in tasks])
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
