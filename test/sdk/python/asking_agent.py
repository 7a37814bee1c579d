"""An agent that writes, asks and reports its progress on each task, for the conformance kit: a plain function."""

from task_gateway import Context, run_agent
from task_gateway.contract import TaskInfo


def handle(task: TaskInfo, context: Context) -> dict[str, object]:
    context.write("It begins.\n")
    context.progress(10)
    context.stopped.wait(1.5)
    answer = context.ask("Go on?")
    return {"output": "done", "answer": answer}


run_agent(handle, tags=["x"], max_concurrent=2)
