"""The errors of the package. Each has a `code` that stays the same, and no message contains a secret."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import Any, cast

import httpx

from .contract import FieldError, ProblemCode, ProblemDetails, TaskExplanation, TaskInfo


class TaskGatewayError(Exception):
    """The base of all errors that the package raises on purpose."""

    request_id: str | None = None  #: The task that the error is about, once the gateway has said its id.
    idempotency_key: str | None = None  #: A submission that is repeated with this key finds its task.
    attempts = 1  #: How often the request was sent.
    status = 0  #: The status of the response; 0 where none came.
    problem: ProblemDetails | None = None  #: The gateway's own words.
    asked_seconds = 0.0  #: The pause that the gateway asks for (`Retry-After`).

    def __init__(self, code: ProblemCode, message: str) -> None:
        super().__init__(message)
        self.code = code

    @property
    def is_transient(self) -> bool:
        """Whether the same call may succeed a little later."""
        is_fault = self.status >= 500 and self.status not in (501, 505)
        return is_fault or self.status in (408, 429) or self.code in ("connection_failed", "timeout")


class InvalidOptionError(TaskGatewayError):
    """An option that can't work, found before anything was sent (`invalid_option`)."""

    def __init__(self, message: str) -> None:
        super().__init__("invalid_option", message)


class GatewayConnectionError(TaskGatewayError, ConnectionError):
    """No response (`connection_failed`), or another server's: `redirected`, `not_a_gateway` or such."""


class GatewayTimeoutError(TaskGatewayError, TimeoutError):
    """No response came within `timeout_seconds` (`timeout`). The call may have taken effect."""


class ApiError(TaskGatewayError):
    """An error status. `code` is the problem's, or `http_` and the status where there is no problem."""

    def __init__(self, response: httpx.Response, secret: str) -> None:
        # A server may repeat the secret.
        value = read_json(response.text.replace(secret, "[secret]"))
        if isinstance(value, dict) and all(isinstance(value.get(name), str) for name in ("code", "title", "detail")):
            self.problem = cast(ProblemDetails, value)
        self.status, self.headers = response.status_code, response.headers
        #: What is wrong with each field of the request.
        self.errors: list[FieldError] = self.problem.get("errors", []) if self.problem else []
        asked = response.headers.get("retry-after", "").strip()
        with suppress(ValueError):  # It is a number, or a date.
            date = None if asked.isdecimal() else parsedate_to_datetime(asked)
            self.asked_seconds = date.timestamp() - time.time() if date else float(asked)
        faults = "; ".join(f"{one.get('pointer') or 'the body'} {one.get('detail')}" for one in self.errors)
        text = "{status} {title}: {detail}" if self.problem else "The gateway responded with {status}."
        text = text.format(**{"status": self.status, **(self.problem or {})}) + (f" ({faults})" if faults else "")
        super().__init__(self.problem["code"] if self.problem else f"http_{self.status}", text)


class TaskFailedError(TaskGatewayError):
    """The task of a run failed: `task_failed`, `task_cancelled`, `task_timeout` or `no_agent_available`."""

    def __init__(self, code: str, task: TaskInfo, explanation: TaskExplanation | None) -> None:
        hint = f" ({explanation['hint']})" if explanation and explanation["hint"] else ""
        super().__init__(code, f"Task {task['request_id']} failed: {task['error_info']}{hint}")
        self.task, self.explanation = task, explanation


class WorkStoppedError(TaskGatewayError):
    """Why a handler should stop: `task_cancelled`, `task_timeout` or `agent_stopped`."""


#: With these codes the gateway says that the agent no longer has the task.
UNWANTED_CODES = ("task_not_found", "agent_mismatch", "task_terminal", "not_asked")
CODE_OF_OUTCOME = {"cancelled": "task_cancelled", "timeout": "task_timeout", "no_agent": "no_agent_available"}
OUTCOME_OF_TEXT = {"cancelled by user": "cancelled", "timeout": "timeout", "无可用 Agent": "no_agent"}


def read_failure(task: Mapping[str, Any], outcome: str | None = None) -> str:
    """Returns the code of a task that failed: by its header `Task-Outcome`, else by its `error_info`."""
    known = outcome if outcome and outcome != "success" else OUTCOME_OF_TEXT.get(task["error_info"] or "", "")
    return CODE_OF_OUTCOME.get(known, "task_failed")


def read_json(text: str | bytes) -> Any:
    """Returns the value, or None where there is none."""
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    return None
