"""The errors of the package. Each has a `code` that stays the same, and no message contains a secret.

A task that failed is an error of `run_task` and `follow_task` alone; every other call returns it as data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .contract import FieldError, ProblemCode, ProblemDetails, TaskExplanation, TaskInfo


class TaskGatewayError(Exception):
    """The base of all errors that the package raises on purpose."""

    #: The task that the error is about, as soon as the gateway has said its id.
    request_id: str | None = None
    #: The key of a submission: the same submission with this key finds the task, or creates it.
    idempotency_key: str | None = None
    #: How often the request was sent.
    attempts = 1

    def __init__(self, code: ProblemCode, message: str) -> None:
        super().__init__(message)
        self.code = code


class InvalidOptionError(TaskGatewayError):
    """An option that can't work, found before anything was sent (`invalid_option`)."""

    def __init__(self, message: str) -> None:
        super().__init__("invalid_option", message)


class GatewayConnectionError(TaskGatewayError, ConnectionError):
    """No response came (`connection_failed`), or one that is not a gateway's: `redirected`, `not_a_gateway`,
    `not_an_event_stream`."""


class GatewayTimeoutError(TaskGatewayError, TimeoutError):
    """No response came within `timeout_seconds` (`timeout`). The call may have taken effect."""

    def __init__(self, seconds: float) -> None:
        super().__init__("timeout", f"No response within {seconds:g} s (timeout_seconds).")


class ApiError(TaskGatewayError):
    """An error status. `code` is the problem's, or `http_` and the status where there is no problem."""

    def __init__(
        self, status: int, problem: ProblemDetails | None, headers: Mapping[str, str], asked_seconds: float
    ) -> None:
        text = f"The gateway responded with {status}."
        #: What is wrong with each field of the request.
        self.errors: list[FieldError] = problem.get("errors", []) if problem else []
        if problem:
            text = f"{status} {problem['title']}: {problem['detail']}"
            faults = [f"{one.get('pointer') or 'the body'} {one.get('detail')}" for one in self.errors]
            text += f" ({'; '.join(faults)})" if faults else ""
        super().__init__(problem["code"] if problem else f"http_{status}", text)
        self.status, self.problem, self.headers = status, problem, headers
        #: The pause that the gateway asks for (`Retry-After`), or 0.
        self.asked_seconds = asked_seconds


class TaskFailedError(TaskGatewayError):
    """The task of a run failed: `task_failed`, or a code of its own in the classes below."""

    failure_code = "task_failed"

    def __init__(self, task: TaskInfo, explanation: TaskExplanation | None = None) -> None:
        hint = explanation["hint"] if explanation else None
        text = f"Task {task['request_id']} failed: {task['error_info']}"
        super().__init__(self.failure_code, f"{text} ({hint})" if hint else text)
        self.task, self.explanation = task, explanation
        self.request_id = task["request_id"]


class TaskCancelledError(TaskFailedError):
    """The task was cancelled."""

    failure_code = "task_cancelled"


class TaskTimeoutError(TaskFailedError):
    """The task did not end within its `timeout`."""

    failure_code = "task_timeout"


class NoAgentAvailableError(TaskFailedError):
    """No agent with one of its tags had a free slot in time; `explanation` says which agents there are."""

    failure_code = "no_agent_available"


class WorkStoppedError(TaskGatewayError):
    """Why a handler should stop: `task_cancelled`, `task_timeout` or `agent_stopped`."""


#: With these codes the gateway says that the agent no longer has the task.
UNWANTED_CODES = ("task_not_found", "agent_mismatch", "task_terminal", "not_asked")
CLASS_OF_OUTCOME: dict[str, type[TaskFailedError]] = {
    "cancelled": TaskCancelledError,
    "timeout": TaskTimeoutError,
    "no_agent": NoAgentAvailableError,
}
OUTCOME_OF_TEXT = {"cancelled by user": "cancelled", "timeout": "timeout", "无可用 Agent": "no_agent"}


def outcome_of(task: Mapping[str, Any], header: str | None = None) -> str:
    """Returns how a task ended: by `Task-Outcome` if it fits the status, else by `error_info`."""
    if header and (header == "success") == (task["status"] == "success"):
        return header
    text = task["error_info"] or ""
    failed = "agent_lost" if text.startswith("agent lost: ") else OUTCOME_OF_TEXT.get(text, "failed")
    return "success" if task["status"] == "success" else failed
