"""Submits a task over the client of openapi-python-client, waits for its end and prints its result."""

import os

from client import AuthenticatedClient
from client.api.core import get_task, submit_task
from client.models import FreeForm, TaskInfo, TaskStatus, TaskSubmission

secret = os.environ["TASK_GATEWAY_AUTH"]
payload = FreeForm()
payload["text"] = "grüß dich"
body = TaskSubmission(auth=secret, task_type="echo", task_tags=["upper"], payload=payload)

with AuthenticatedClient(base_url=os.environ["TASK_GATEWAY_URL"], token=secret, timeout=60) as client:
    task = submit_task.sync(client=client, body=body)
    while isinstance(task, TaskInfo) and task.status in (TaskStatus.PENDING, TaskStatus.RUNNING):
        task = get_task.sync(task.request_id, client=client, wait=30)

if not isinstance(task, TaskInfo) or task.result is None:
    raise SystemExit(f"There is no result: {task}")
print(task.status, task.result.output)
