"""Runs one task and prints its output, with Python's standard library alone. Ctrl-C cancels the task.

    TASK_GATEWAY_URL=http://127.0.0.1:8080 TASK_GATEWAY_AUTH=... python3 client.py shout hello

Instead of the text it takes a payload as JSON, and behind it the type of the task.
"""

import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.request
import uuid
from urllib.parse import quote

URL = os.environ.get("TASK_GATEWAY_URL", "http://127.0.0.1:8080")
AUTH = os.environ["TASK_GATEWAY_AUTH"]
POLL_SECONDS = 20
RETRIES = 6


class GatewayError(Exception):
    """The gateway refused a call: `code` says why, for programs, and the text for people."""

    def __init__(self, status, body):
        try:
            problem = json.loads(body)
        except ValueError:
            problem = {}
        self.code = problem.get("code", f"http_{status}")
        super().__init__(f"{status} {self.code}: {problem.get('detail', body[:200])}")


class NoRedirection(urllib.request.HTTPRedirectHandler):
    """A redirection is an error: the secret goes to the gateway alone."""

    def redirect_request(self, *_):
        return None


opener = urllib.request.build_opener(NoRedirection)


def call(method, path, body=None, headers=None, timeout=30):
    """Makes one call, again after failures that a repeat may mend: no response, 408, 429 and 5xx."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {AUTH}", **(headers or {})}
    for attempt in range(RETRIES + 1):
        if attempt == 1:
            print(f"the gateway at {URL} can't be used, trying again: {trouble}", file=sys.stderr, flush=True)
        request = urllib.request.Request(URL + path, data, headers, method=method)
        try:
            with opener.open(request, timeout=timeout) as response:
                answer = json.loads(response.read())
            if attempt > 0:
                print(f"the gateway at {URL} can be used again", file=sys.stderr, flush=True)
            return answer
        except urllib.error.HTTPError as error:
            if attempt == RETRIES or (error.code not in (408, 429) and error.code < 500):
                raise GatewayError(error.code, error.read().decode()) from None
            pause = error.headers.get("Retry-After", "")
            pause = min(int(pause), 60) if pause.isdigit() else 2**attempt / 2
            trouble = f"{error.code} {error.reason}"
        except (OSError, http.client.HTTPException) as error:
            if attempt == RETRIES:
                raise
            pause = 2**attempt / 2
            trouble = getattr(error, "reason", error)
        time.sleep(pause)


def submit(tag, payload, task_type="example", timeout=600, queue_timeout=30):
    """Submits a task. The key makes repeats harmless: they find the task that the first one created."""
    task = {"auth": AUTH, "task_type": task_type, "task_tags": [tag], "payload": payload}
    task |= {"timeout": timeout, "queue_timeout": queue_timeout}
    return call("POST", "/api/cli/tasks", task, {"Idempotency-Key": str(uuid.uuid4())})


def path_of(task):
    return f"/api/cli/tasks/{quote(task['request_id'], safe='')}"


def wait(task):
    """Waits until the task has ended. The gateway holds each call, so this is no busy loop."""
    while task["status"] not in ("success", "failed"):
        task = call("GET", f"{path_of(task)}?wait={POLL_SECONDS}", timeout=POLL_SECONDS + 30)
    return task


def cancel(task):
    """Cancels the task. Returns False if it had ended already."""
    try:
        call("POST", f"{path_of(task)}/cancel")
        return True
    except GatewayError as error:
        if error.code != "task_terminal":
            raise
        return False


def main(tag="shout", text="hello", task_type="example"):
    payload = json.loads(text) if text.startswith("{") else {"text": text}
    task = submit(tag, payload, task_type)
    try:
        print(f"task {task['request_id']} waits for its result", file=sys.stderr, flush=True)
        task = wait(task)
    except KeyboardInterrupt:
        print("cancelled" if cancel(task) else "it had ended", file=sys.stderr)
        return 130
    if task["status"] == "failed":
        print(task["error_info"], file=sys.stderr)
        return 1
    print(task["result"].get("output"))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except (GatewayError, OSError) as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("stopped before the gateway said that it has the task")
