"""Whether a push is from the gateway, for agents that receive pushes on a server of their own."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections.abc import Mapping

AGE_MAX_SECONDS = 300


def verify_push(headers: Mapping[str, str], body: bytes, *secrets: str, now: float | None = None) -> bool:
    """Whether a gateway with one of these secrets has signed this push, and not over five minutes ago.

    If not, respond with 401. `body` is what was received, byte by byte.
    """
    given = {name.lower(): value for name, value in headers.items()}
    push_id, sent = given.get("webhook-id", ""), given.get("webhook-timestamp", "")
    if not push_id or not (sent.isascii() and sent.isdigit()):
        return False
    if abs((time.time() if now is None else now) - int(sent)) > AGE_MAX_SECONDS:
        return False
    content = f"{push_id}.{sent}.".encode() + body
    signatures = [
        text[3:].encode() for text in given.get("webhook-signature", "").split(" ") if text.startswith("v1,")
    ]
    for secret in secrets:
        key = base64.b64decode(secret[6:]) if secret.startswith("whsec_") else secret.encode()
        right = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest())
        if any([hmac.compare_digest(right, one) for one in signatures]):
            return True
    return False
