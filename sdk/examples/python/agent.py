"""An agent with Python's standard library alone. It claims its tasks, so it needs no port.

    TASK_GATEWAY_URL=http://127.0.0.1:8080 TASK_GATEWAY_AUTH=... python3 agent.py

At Ctrl-C or SIGTERM it ends the task in hand and unregisters; a second one does not wait for the task.
"""

import http.client
import json
import os
import signal
import sys
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
beat_every, token = 15, {}  # as the gateway responded to the registration
is_troubled = False  # whether the last call was in vain


def call(name, **fields):
    """Calls until there is an answer. An agent that the gateway does not know any more registers first."""
    pause, asked = 0.25, "0"
    while True:
        if is_troubled and "wait" in fields:
            fields["wait"] = 0  # the answer comes at once, and says that the gateway is back
        body = json.dumps({"auth": AUTH, "agent_id": AGENT_ID, **fields}).encode()
        request = urllib.request.Request(f"{URL}/api/agent/{name}", body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=CLAIM_SECONDS + 30) as response:
                answer = response.read()
            say(None)
            return json.loads(answer or "null")
        except urllib.error.HTTPError as error:
            trouble, status, asked = error.read().decode(), error.code, error.headers.get("Retry-After", "0")
            is_final = status not in (408, 429) and status < 500
        except (OSError, http.client.HTTPException) as error:
            trouble, is_final = str(getattr(error, "reason", error)), stopping.is_set() and not running
        if not is_final:
            say(trouble)
            time.sleep(max(pause := min(pause * 2, 10), int(asked) if asked.isdigit() else 0))
        elif "agent_not_found" in trouble and name != "unregister":
            register()
        elif name == "result" and fields["status"] == "success" and status in (413, 422):
            fields.update(status="failed", result=None, error_info=f"the result was refused: {trouble}")
        elif name == "result" and status != 401:
            return print(f"dropped: {trouble}", file=sys.stderr, flush=True)
        else:
            sys.exit(f"{name}: {trouble}")


def say(trouble):
    """Says once that the gateway can't be used, and once that it can be used again."""
    global is_troubled
    if is_troubled == (trouble is None):
        is_troubled = not is_troubled
        text = f"can't be used, trying again: {trouble}" if is_troubled else "can be used again"
        print(f"the gateway at {URL} {text}", file=sys.stderr, flush=True)


def register():
    global beat_every, token
    answer = call("register", endpoint="pull", agent_tags=TAGS, request_ids=list(running))
    beat_every, token = answer["heartbeat_interval"], {"registration": answer["registration"]}
    drop(answer)
    print(f"ready: {AGENT_ID}", flush=True)


def drop(answer):
    for request_id in set(answer["cancelled_request_ids"]) & set(running):
        running[request_id].set()


def keep_beating():
    """Sends heartbeats while the task in hand is worked on, so that the gateway knows it is not lost."""
    while True:
        time.sleep(beat_every)
        drop(call("heartbeat", request_ids=list(running), draining=stopping.is_set(), **token))


def work(task, dropped):
    """Your part: returns the result. What it raises is the task's error. Look at `dropped` if it takes long."""
    text = str(task["payload"]["text"])
    dropped.wait(len(text) / 50)
    return {"output": f"{text.upper()}!"}


def handle(task):
    dropped = running[request_id := task["request_id"]] = threading.Event()
    print(f"working on {request_id}", flush=True)
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


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    try:
        register()
        threading.Thread(target=keep_beating, daemon=True).start()
        while not stopping.is_set():
            if task := call("claim", wait=CLAIM_SECONDS):
                handle(task)
    except KeyboardInterrupt:
        running.clear()
        stopping.set()
    finally:
        call("unregister", **token)
    print("stopped", flush=True)
