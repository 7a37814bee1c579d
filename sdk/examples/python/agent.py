"""An agent with Python's standard library alone. It claims its tasks, so it needs no port.

    TASK_GATEWAY_URL=http://127.0.0.1:8080 TASK_GATEWAY_AUTH=... python3 agent.py

At Ctrl-C or SIGTERM it ends the task in hand and unregisters; a second one does not wait for the task.
"""

import http.client
import json
import os
import signal
import threading
import time
import urllib.error
import urllib.request

URL = os.environ.get("TASK_GATEWAY_URL", "http://127.0.0.1:8080")
AUTH = os.environ["TASK_GATEWAY_AUTH"]
AGENT_ID = os.environ.get("TASK_GATEWAY_AGENT_ID", "python-1")
TAGS = ["shout"]
CLAIM_SECONDS = 20

stopping = threading.Event()
running = {}  # request_id of the task in hand: the event that says it is to be dropped
beat_every = 15


class Refused(Exception):
    """A call that no repeat mends."""


def call(name, **fields):
    """Calls until there is an answer: a repeat after no response, 408, 429 or 5xx does no harm."""
    body = json.dumps({"auth": AUTH, "agent_id": AGENT_ID, **fields}).encode()
    headers = {"Content-Type": "application/json"}
    pause = 0.5
    while True:
        request = urllib.request.Request(f"{URL}/api/agent/{name}", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=CLAIM_SECONDS + 30) as response:
                return json.loads(response.read() or "null")
        except urllib.error.HTTPError as error:
            if error.code not in (408, 429) and error.code < 500:
                raise Refused(f"{error.code} {error.read().decode()}") from None
        except (OSError, http.client.HTTPException):
            pass
        time.sleep(pause)
        pause = min(pause * 2, 10)


def register():
    global beat_every
    answer = call("register", endpoint="pull", agent_tags=TAGS, request_ids=list(running))
    beat_every = answer["heartbeat_interval"]
    drop(answer["cancelled_request_ids"])
    print(f"ready: {AGENT_ID}", flush=True)


def ask(name, **fields):
    """Calls as a registered agent: one that the gateway does not know any more registers again."""
    try:
        return call(name, **fields)
    except Refused as error:
        if "agent_not_found" not in str(error):
            raise
        register()
        return None


def drop(request_ids):
    for request_id in request_ids:
        if request_id in running:
            running[request_id].set()


def keep_beating():
    """Sends heartbeats while the task in hand is worked on, so that the gateway knows it is not lost."""
    while True:
        time.sleep(beat_every)
        answer = ask("heartbeat", request_ids=list(running), draining=stopping.is_set())
        drop((answer or {}).get("cancelled_request_ids", []))


def work(task, dropped):
    """Your part: returns the result. What it raises is the task's error. Look at `dropped` if it takes long."""
    letters = []
    for letter in str(task["payload"]["text"]):
        if dropped.wait(0.02):
            return None
        letters.append(letter.upper())
    return {"output": "".join(letters) + "!"}


def handle(task):
    request_id = task["request_id"]
    dropped = running[request_id] = threading.Event()
    try:
        outcome = {"status": "success", "result": work(task, dropped)}
    except Exception as error:
        outcome = {"status": "failed", "error_info": f"{type(error).__name__}: {error}"}
    if not dropped.is_set():
        call("result", request_id=request_id, **outcome)
    del running[request_id]


def stop(*_):
    if stopping.is_set() or not running:
        raise KeyboardInterrupt  # ends the claim that is waited for, or the task in hand
    stopping.set()


def main():
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    register()
    threading.Thread(target=keep_beating, daemon=True).start()
    try:
        while not stopping.is_set():
            task = ask("claim", wait=CLAIM_SECONDS)
            if task:
                handle(task)
    except KeyboardInterrupt:
        pass
    finally:
        call("unregister")


if __name__ == "__main__":
    main()
