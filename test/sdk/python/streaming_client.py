"""A client that learns from the stream of its session when its task has ended, for the conformance kit.

The stream is open before the task is submitted. While it is down, after a gap, and once a minute in any case, the
task itself is asked for.
"""

import asyncio
import json
import os
import uuid
from typing import Any

from task_gateway import ApiError, AsyncClient, TaskGatewayError


async def main() -> None:
    session, is_open, look = f"streaming-{uuid.uuid4()}", asyncio.Event(), asyncio.Event()
    state = {"id": "", "is_open": False}

    def notice(kind: str, error: TaskGatewayError | None) -> None:
        state["is_open"] = kind != "down"
        is_open.set()
        look.set()

    async def read_events() -> None:
        try:
            async for event in client.subscribe_events(session, on_notice=notice):
                if event["request_id"] == state["id"]:
                    look.set()
        except TaskGatewayError:
            notice("down", None)

    async with AsyncClient() as client:
        reading = asyncio.create_task(read_events())
        try:
            await asyncio.wait_for(is_open.wait(), 5)
        except asyncio.TimeoutError:
            pass
        task: Any = await client.submit_task(
            task_type=os.environ["TASK_TYPE"],
            task_tags=[os.environ["TASK_TAG"]],
            payload=json.loads(os.environ["TASK_PAYLOAD"]),
            cli_session_id=session,
            queue_timeout=30,
        )
        state["id"] = task["request_id"]
        try:
            while task["status"] not in ("success", "failed"):
                if not state["is_open"]:
                    task = await client.wait_task(task["request_id"])
                    continue
                try:
                    await asyncio.wait_for(look.wait(), 60)
                except asyncio.TimeoutError:
                    pass
                look.clear()
                try:
                    task = await client.get_task(task["request_id"])
                except ApiError as error:
                    if error.status < 500:
                        raise
        except asyncio.CancelledError:
            await client.cancel_task(task["request_id"])
            raise
        reading.cancel()
    if task["status"] != "success":
        raise SystemExit(1)
    print(json.dumps(task["result"]))


asyncio.run(main())
