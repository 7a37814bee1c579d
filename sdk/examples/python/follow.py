"""Prints the output of a task while its agent writes it, with Python's standard library alone.

    TASK_GATEWAY_URL=http://127.0.0.1:8080 TASK_GATEWAY_AUTH=... python3 follow.py REQUEST_ID

A connection that breaks is opened again behind the last piece: nothing is printed twice, and nothing is lost.
"""

import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.request

URL = os.environ.get("TASK_GATEWAY_URL", "http://127.0.0.1:8080")
AUTH = os.environ["TASK_GATEWAY_AUTH"]
SILENT_SECONDS = 60  # the gateway sends something every 15 s
RETRIES = 6


def frames(request_id, after):
    """Yields what one connection brings: pieces, and how the task stands. Nothing follows behind the end."""
    headers = {"Authorization": f"Bearer {AUTH}", "Accept": "text/event-stream", "Last-Event-ID": str(after)}
    request = urllib.request.Request(f"{URL}/api/cli/tasks/{request_id}/output", headers=headers)
    with urllib.request.urlopen(request, timeout=SILENT_SECONDS) as response:
        for line in response:
            if line.startswith(b"data: ") and line.endswith(b"\n"):
                yield json.loads(line[6:])


def follow(request_id, after=0):
    """Yields the pieces of a task's output, each once and in order, and last its end."""
    failures = 0
    while True:
        try:
            for frame in frames(request_id, after):
                failures = 0
                if frame.get("n", 0) > after:
                    after = frame["n"]
                    yield frame
                    if "end" in frame:
                        return
            trouble = "the connection was closed"
        except urllib.error.HTTPError as error:
            if error.code not in (408, 429) and error.code < 500:
                raise
            trouble = f"{error.code} {error.reason}"
        except (OSError, http.client.HTTPException) as error:
            trouble = getattr(error, "reason", error)
        if failures == RETRIES:
            raise OSError(f"the gateway at {URL} can't be used: {trouble}")
        print(f"{trouble}: goes on behind piece {after}", file=sys.stderr, flush=True)
        time.sleep(min(2**failures, 10))
        failures += 1


def main(request_id):
    for piece in follow(request_id):
        if "text" in piece:
            print(piece["text"], end="", flush=True)
        elif "data" in piece:
            print(json.dumps(piece["data"], ensure_ascii=False), flush=True)
        elif "reset" in piece:
            print(f"\n{piece['agent_id']} begins anew: void is what came before", file=sys.stderr)
        elif "end" in piece:
            missing = f", pieces are missing: {piece['missing']}" if piece["missing"] else ""
            print(f"{piece['outcome']}{missing}", file=sys.stderr)
            return 0 if piece["status"] == "success" else 1


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except urllib.error.HTTPError as error:
        sys.exit(f"{error.code}: {json.loads(error.read())['detail']}")
    except OSError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
