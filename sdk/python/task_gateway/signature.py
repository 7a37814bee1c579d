"""Whether a push is from the gateway, for agents that receive pushes on a server of their own."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections.abc import Mapping


def verify_push(headers: Mapping[str, str], body: bytes, *secrets: str, now: float | None = None) -> bool:
    """Returns whether a gateway with one of these secrets signed these bytes in the last five minutes."""
    given = {name.lower(): value for name, value in headers.items()}
    push_id, sent = given.get("webhook-id", ""), given.get("webhook-timestamp", "")
    if not push_id or not sent.isascii() or not sent.isdigit() or abs((now or time.time()) - int(sent)) > 300:
        return False
    content, signatures = f"{push_id}.{sent}.".encode() + body, given.get("webhook-signature", "").encode().split(b" ")
    keys = [base64.b64decode(one[6:]) if one.startswith("whsec_") else one.encode() for one in secrets]
    right = [b"v1," + base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()) for key in keys]
    return any([hmac.compare_digest(one, signature) for one in right for signature in signatures])
