"""Generated from the contract. Do not edit: change the TypeSpec sources and generate again.

What clients and agents send and get. The client adds the secret, so no type here has `auth`.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict

AgentState = Literal["ready", "processing", "draining", "offline"] | str
HistoryEvent = Literal[
    "submitted",
    "waiting",
    "assigned",
    "moved",
    "claimed",
    "push_taken",
    "push_not_taken",
    "push_unknown",
    "acknowledged",
    "progress",
    "offered_again",
    "asked",
    "answered",
    "success",
    "failed",
    "cancelled",
    "timeout",
    "no_agent",
    "agent_lost",
] | str
MatchReason = Literal[
    "eligible",
    "no_shared_tag",
    "full",
    "draining",
    "offline",
    "refused_this_task",
    "has_this_task",
] | str
MissingOutput = Literal["truncated", "removed"] | str
RemedyKind = Literal[
    "use_tag",
    "wait",
    "raise_max_concurrent",
    "start_agent",
    "end_draining",
    "check_agent",
    "raise_timeout",
    "submit_again",
    "answer",
] | str
TaskOutcome = Literal["success", "failed", "cancelled", "timeout", "no_agent", "agent_lost"] | str
TaskStatus = Literal["pending", "running", "success", "failed"]
ProblemCode = Literal[
    "agent_id_missing",
    "agent_mismatch",
    "agent_not_found",
    "busy",
    "idempotency_conflict",
    "internal",
    "malformed_body",
    "misdirected",
    "not_asked",
    "origin_not_allowed",
    "payload_too_large",
    "request_timeout",
    "store_unavailable",
    "task_not_found",
    "task_terminal",
    "too_many_streams",
    "unauthorized",
    "unsupported_media_type",
    "validation_failed",
] | str


class _AgentDeparture(TypedDict, total=False):
    registration: str


class AgentDeparture(_AgentDeparture):
    """A request to unregister an agent."""

    agent_id: str


class _AgentHeartbeat(TypedDict, total=False):
    current_load: int
    request_ids: list[str]
    registration: str
    draining: bool


class AgentHeartbeat(_AgentHeartbeat):
    """A heartbeat."""

    agent_id: str


class _AgentRegistration(TypedDict, total=False):
    max_concurrent: int
    current_load: int
    request_ids: list[str]
    lost_after: float


class AgentRegistration(_AgentRegistration):
    """An agent's registration."""

    agent_id: str
    endpoint: str
    agent_tags: list[str]


class _AnswerClaim(TypedDict, total=False):
    wait: float


class AnswerClaim(_AnswerClaim):
    """An agent's request for the answer to its question."""

    agent_id: str
    request_id: str
    key: str


class _AnswerField(TypedDict, total=False):
    title: str
    description: str
    default: float | bool | str
    enum: list[str]
    minLength: int
    maxLength: int
    minimum: float
    maximum: float


class AnswerField(_AnswerField):
    """One field of an answer."""

    type: Literal["string", "number", "integer", "boolean"]


class AnswerReceipt(TypedDict):
    """The answer is stored."""

    ok: Literal[True]
    request_id: str
    key: str


class _AnswerSchema(TypedDict, total=False):
    required: list[str]


class AnswerSchema(_AnswerSchema):
    """The form of an answer."""

    type: Literal["object"]
    properties: dict[str, AnswerField]


class AskedQuestion(TypedDict):
    """A question that the agent of a task has asked."""

    key: str
    prompt: str
    asked_time: float
    answered_time: float | None


class CancelReceipt(TypedDict):
    """The task is cancelled."""

    ok: Literal[True]
    request_id: str


class DepartureReceipt(TypedDict):
    """The agent is unregistered."""

    ok: Literal[True]
    agent_id: str


class FieldError(TypedDict):
    """One error in a request."""

    pointer: str
    detail: str


class _HeartbeatReceipt(TypedDict, total=False):
    replaced: Literal[True]


class HeartbeatReceipt(_HeartbeatReceipt):
    """The gateway has received the heartbeat."""

    ok: Literal[True]
    agent_id: str
    state: AgentState
    cancelled_request_ids: list[str]


class HistoryEntry(TypedDict):
    """One thing that happened to a task."""

    time: float
    event: HistoryEvent
    agent_id: str | None
    detail: str | None
    count: int
    last_time: float


class MatchAgent(TypedDict):
    """An agent, and whether it qualifies."""

    agent_id: str
    shared_tags: list[str]
    state: AgentState
    drained_by_operator: bool
    full: bool
    eligible: bool
    reason: MatchReason
    push_failing: bool
    max_concurrent: int
    current_load: int
    last_contact_time: float


class MatchCounts(TypedDict):
    """How many agents share at least one of the tags, by what keeps them from the task."""

    agents: int
    eligible: int
    full: int
    draining: int
    offline: int


class MatchPreview(TypedDict):
    """A match without a task."""

    match: TaskMatch
    hint: str | None
    remedies: list[Remedy]


class MatchQuery(TypedDict):
    """The tags to match."""

    task_tags: list[str]


class MatchTag(TypedDict):
    """One of the tags that were asked for, with the agents that have it."""

    tag: str
    agents: int
    free: int
    similar: TagSupply | None


class NewPiece(TypedDict, total=False):
    """A piece to write."""

    text: str
    data: Any
    question: Question


class OutputEnd(TypedDict):
    """The end of a task's output."""

    n: int
    end: Literal[True]
    status: Literal["success", "failed"]
    outcome: TaskOutcome
    missing: MissingOutput | None


class OutputPage(TypedDict):
    """A page of a task's output, and how the task stands."""

    request_id: str
    status: TaskStatus
    progress: int
    outcome: TaskOutcome | None
    pieces: list[Piece]
    last: int
    complete: bool
    missing: MissingOutput | None


class OutputReceipt(TypedDict):
    """The pieces are stored, or `accepted` is false."""

    ok: Literal[True]
    request_id: str
    status: TaskStatus
    accepted: bool
    next: int


class OutputStatus(TypedDict):
    """How an open task stands."""

    status: Literal["pending", "running"]
    progress: int


OutputWrite = TypedDict("OutputWrite", {
    "agent_id": "str",
    "request_id": "str",
    "writer": "str",
    "from": "int",
    "pieces": "list[NewPiece]",
})


class _Piece(TypedDict, total=False):
    text: str
    data: Any
    question: Question
    answer: QuestionAnswer
    reset: Literal[True]
    agent_id: str


class Piece(_Piece):
    """One piece of a task's output."""

    n: int


class _ProblemDetails(TypedDict, total=False):
    errors: list[FieldError]


class ProblemDetails(_ProblemDetails):
    """Every error response holds these fields, whatever its status and code."""

    type: str
    title: str
    status: int
    detail: str
    code: str


class _Question(TypedDict, total=False):
    schema: AnswerSchema


class Question(_Question):
    """A question that an agent asks about its task."""

    key: str
    prompt: str


class _QuestionAnswer(TypedDict, total=False):
    answer: Any


class QuestionAnswer(_QuestionAnswer):
    """The answer to a question."""

    key: str


class _RegistrationReceipt(TypedDict, total=False):
    replaced: Literal[True]


class RegistrationReceipt(_RegistrationReceipt):
    """The agent is registered."""

    ok: Literal[True]
    agent_id: str
    state: AgentState
    registration: str
    heartbeat_interval: float
    offline_after: float
    cancelled_request_ids: list[str]


class Remedy(TypedDict):
    """One thing that helps, for programs; `hint` says the same for people."""

    kind: RemedyKind
    tag: str | None
    agent_id: str | None
    seconds: float | None


class ReportReceipt(TypedDict):
    """The gateway has received the report."""

    ok: Literal[True]
    request_id: str
    status: TaskStatus
    accepted: bool


class TagSupply(TypedDict):
    """A tag that agents have, with how many have it."""

    tag: str
    agents: int
    free: int


class TaskAgent(TypedDict):
    """How long the agent of a task has been silent, and what follows if it stays so."""

    agent_id: str
    contact_time: float | None
    silent_seconds: float | None
    silent_time: float | None
    offline_time: float | None
    lost_time: float | None


class _TaskClaim(TypedDict, total=False):
    wait: float
    request_ids: list[str]


class TaskClaim(_TaskClaim):
    """An agent's request for its next task."""

    agent_id: str


class TaskDone(TypedDict):
    """A task became terminal."""

    event: Literal["task_done"]
    request_id: str
    status: Literal["success", "failed"]
    result: dict[str, Any] | None
    error_info: str | None


class TaskExplanation(TypedDict):
    """A task explained."""

    request_id: str
    status: TaskStatus
    waiting: bool
    acknowledged: bool
    outcome: TaskOutcome | None
    queue_timeout: float | None
    assigned_time: float | None
    ended_time: float | None
    deadline_time: float
    history: list[HistoryEntry]
    history_dropped: int
    match: TaskMatch | None
    agent: TaskAgent | None
    questions: list[AskedQuestion]
    hint: str | None
    remedies: list[Remedy]


class TaskInfo(TypedDict):
    """A task."""

    request_id: str
    task_type: str
    task_tags: list[str]
    payload: dict[str, Any]
    status: TaskStatus
    agent_id: str | None
    cli_session_id: str
    create_time: float
    timeout: float
    progress: int
    result: dict[str, Any] | None
    error_info: str | None


class TaskMatch(TypedDict):
    """Which agents qualify for a set of tags."""

    time: float
    live: bool
    agents_total: int
    sharing: MatchCounts
    tags: list[MatchTag]
    agents: list[MatchAgent]


class _TaskReport(TypedDict, total=False):
    progress: int
    result: dict[str, Any] | None
    error_info: str | None


class TaskReport(_TaskReport):
    """The progress or the result of a task."""

    request_id: str
    agent_id: str
    status: Literal["success", "failed", "running"]


class _TaskSubmission(TypedDict, total=False):
    cli_session_id: str
    timeout: float
    queue_timeout: float


class TaskSubmission(_TaskSubmission):
    """A task to submit."""

    task_type: str
    task_tags: list[str]
    payload: dict[str, Any]
