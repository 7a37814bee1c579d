"""An agent whose results are numbers. It notes each task that its handler begins in the file `WORKED`."""

import os

from task_gateway import Context, run_agent
from task_gateway.contract import TaskInfo


def work(task: TaskInfo, context: Context) -> dict[str, object]:
    with open(os.environ["WORKED"], "a") as file:
        file.write(f"{task['payload']['n']}\n")
    context.write(f"number {task['payload']['n']}")
    is_cut = context.stopped.wait(task["payload"].get("seconds", 0))
    return {"n": task["payload"]["n"], "reason": context.reason.code if is_cut and context.reason else None}


run_agent(
    work,
    tags=["work"],
    max_concurrent=4,
    outbox=os.environ["OUTBOX"],
    lost_after_seconds=float(os.environ.get("LOST_AFTER", "120")),
)
