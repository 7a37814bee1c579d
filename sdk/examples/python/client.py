"""Runs one task with the package task-gateway, and prints its output while it is written. Ctrl-C cancels the task.

    TASK_GATEWAY_URL=http://127.0.0.1:8080 TASK_GATEWAY_AUTH=... python3 client.py shout "hello"

Instead of the text it takes a payload as JSON, and behind it the type of the task.
"""

import json
import sys
from typing import Any

from task_gateway import Client, TaskGatewayError


def show(item: dict[str, Any]) -> None:
    """Gets each piece of the output, and how the task stands; standard output is for the result alone."""
    print(item.get("text", item), end="" if "text" in item else "\n", file=sys.stderr, flush=True)


def main(tag: str = "shout", text: str = "hello", task_type: str = "example") -> None:
    payload = json.loads(text) if text.startswith("{") else {"text": text}
    with Client() as client:
        task = client.run_task(
            task_type=task_type, task_tags=[tag], payload=payload, on_output=show, cancel_on_abort=True
        )
    print((task["result"] or {}).get("output"))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except TaskGatewayError as error:
        sys.exit(f"{error.code}: {error}")
    except KeyboardInterrupt:
        sys.exit("cancelled")
