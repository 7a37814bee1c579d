"""An agent that writes data and reports its progress on each task, for the conformance kit: a coroutine."""

import asyncio

from task_gateway import AsyncContext, run_agent
from task_gateway.contract import TaskInfo


async def handle(task: TaskInfo, context: AsyncContext) -> str:
    await context.write({"begun": True})
    context.progress(10)
    await asyncio.sleep(0.7)
    await context.write("It is half done. ")
    await asyncio.sleep(0.8)
    return "done"


run_agent(handle, tags=["x"], max_concurrent=2)
