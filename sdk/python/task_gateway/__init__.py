"""The Task Gateway for Python: `Client`, `AsyncClient`, and `run_agent`, which makes a process an agent."""

from . import errors
from .agent import Agent, AgentOptions, run_agent
from .clients import AsyncClient, Client
from .errors import ApiError, TaskFailedError, TaskGatewayError, WorkStoppedError
from .signature import verify_push
from .transport import ClientOptions
from .work import AsyncContext, Context

__all__ = ["Agent", "AgentOptions", "ApiError", "AsyncClient", "AsyncContext", "Client", "ClientOptions", "Context"]
__all__ += ["TaskFailedError", "TaskGatewayError", "WorkStoppedError", "errors", "run_agent", "verify_push"]
__version__ = "1.0.0"
