"""The Task Gateway for Python: `Client`, `AsyncClient`, and `run_agent`, which makes a process an agent."""

from .agent import Agent as Agent
from .agent import run_agent as run_agent
from .async_client import AsyncClient as AsyncClient
from .client import Client as Client
