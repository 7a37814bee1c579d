"""An agent with the package task-gateway. It claims its tasks, so it needs no port.

    TASK_GATEWAY_URL=http://127.0.0.1:8080 TASK_GATEWAY_AUTH=... python3 agent.py

At Ctrl-C or SIGTERM it ends the task in hand and unregisters; a second one does not wait for the task.
"""

import os

from task_gateway import Context, run_agent
from task_gateway.contract import TaskInfo


def shout(task: TaskInfo, context: Context) -> dict[str, object]:
    """Your part: returns the result. What it raises is the task's error. Look at `stopped` if it takes long."""
    text = str(task["payload"]["text"])
    context.stopped.wait(len(text) / 50)
    return {"output": f"{text.upper()}!"}


if __name__ == "__main__":
    # An outbox is a file of this agent's own: results outlast a crash in it.
    agent_id = os.environ.get("TASK_GATEWAY_AGENT_ID", "python-1")
    run_agent(shout, tags=["shout"], agent_id=agent_id, outbox=os.environ.get("OUTBOX"))
