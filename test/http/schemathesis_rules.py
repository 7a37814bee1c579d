"""What Schemathesis must know of a gateway: its secrets, what is never sent, and which findings are no faults."""

import os

import schemathesis

SECRET = os.environ["GATEWAY_AUTH"]
#: The agent that the test has registered, the tags of each task, and the task that was submitted last.
AGENT, TAGS = "agent-of-schemathesis", ["schemathesis"]
TASKS = ["00000000-0000-7000-8000-000000000000"]
AGENT_CALLS = ("/api/agent/claim", "/api/agent/output", "/api/agent/result", "/api/agent/answer")

#: The code of a refusal, a word in it, and why the schema can't say that the request is refused.
REFUSED = (
    ("agent_mismatch", "", "A schema does not know which agent has the task."),
    ("task_terminal", "", "A schema does not know that the task has ended."),
    ("not_asked", "", "A schema does not know what the agent asked."),
    ("idempotency_conflict", "", "A schema does not know what the key was used for."),
    ("validation_failed", "must be the `next_cursor`", "A schema does not know which cursors the gateway gave."),
    ("validation_failed", "below 2^63", "The largest numbers of an int64 are read as 2^63, as their description says."),
    ("validation_failed", "must be an absolute http", "What parses as a URL is no pattern; its description says it."),
    ("validation_failed", "exactly one of", "The description of a piece says so; `oneOf` would cost others their types."),
    ("validation_failed", "or `filter` instead", "The description says that one of the two is needed."),
)


@schemathesis.hook
def before_call(context, case, kwargs):
    """Gives a call the right secret, and lets it wait for nothing. A valid one gets things that there are."""
    path, body, query = case.operation.path, case.body, case.query or {}
    for values in (query, body):
        if isinstance(values, dict) and type(values.get("wait")) in (int, float) and values["wait"] > 0:
            values["wait"] = 0
    if isinstance(body, dict):
        # Instead of the gateway's secret `previewMatch` takes the administrator's in a header.
        if isinstance(body.get("auth"), str) or (path == "/api/cli/match" and "auth" not in body):
            body["auth"] = SECRET
        # A gateway would push to another address.
        if str(body.get("endpoint", "")).lower().startswith("http"):
            body["endpoint"] = "pull"
    if case.meta and not case.meta.generation.mode.is_positive:
        return
    if "request_id" in (case.path_parameters or {}):
        case.path_parameters["request_id"] = TASKS[-1]
    if isinstance(body, dict) and path in AGENT_CALLS:
        body |= {"agent_id": AGENT} | ({"request_id": TASKS[-1]} if "request_id" in body else {})
    if isinstance(body, dict) and path == "/api/cli/tasks":
        body["task_tags"] = TAGS


@schemathesis.hook
def after_call(context, case, response):
    if case.operation.path == "/api/cli/tasks" and response.status_code == 200:
        TASKS.append(response.json()["request_id"])


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Drops a finding that a valid request was refused, if it was for one of the reasons above."""
    if "positive_data_acceptance" not in type(failure).checks:
        return True
    text = response.content.decode()
    return not any(f'"code":"{code}"' in text and word in text for code, word, _ in REFUSED)
