"""A client that runs the task of its environment, for the conformance kit. At Ctrl-C it cancels the task."""

import json
import os

from task_gateway import Client

with Client() as client:
    task = client.run_task(
        task_type=os.environ["TASK_TYPE"],
        task_tags=[os.environ["TASK_TAG"]],
        payload=json.loads(os.environ["TASK_PAYLOAD"]),
        cancel_on_abort=True,
    )
    print(json.dumps(task["result"]))
