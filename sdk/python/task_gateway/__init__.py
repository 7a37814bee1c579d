"""The Task Gateway for Python: `Client`, `AsyncClient`, and `run_agent`, which makes a process an agent."""

from . import contract, errors
from .agent import Agent, AgentOptions, run_agent
from .async_client import AsyncClient
from .client import Client
from .errors import ApiError, TaskFailedError, TaskGatewayError, WorkStoppedError
from .handlers import AsyncContext, Context
from .signature import verify_push
from .transport import ClientOptions

__all__ = ["Agent", "AgentOptions", "ApiError", "AsyncClient", "AsyncContext", "Client", "ClientOptions"]
__all__ += ["Context", "TaskFailedError"]
__all__ += ["TaskGatewayError", "WorkStoppedError", "contract", "errors", "run_agent", "verify_push"]
__version__ = "1.0.0"
