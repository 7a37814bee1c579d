"""The package on the data of the conformance kit: signatures, event streams, problems and states."""

import asyncio
import base64
import json
import os
import pathlib
import unittest

import httpx

from task_gateway import verify_push
from task_gateway.errors import UNWANTED_CODES, ApiError, read_failure
from task_gateway.transport import read_events

FOLDER = pathlib.Path(os.environ["CONFORMANCE_DATA"])


def read(name):
    return json.loads((FOLDER / name).read_text("utf-8"))


async def list_events(chunks):
    async def send():
        for chunk in chunks:
            yield chunk

    return [dict(zip(("type", "data", "last_id"), event)) async for event in read_events(send()) if event[1] is not None]


class Vectors(unittest.TestCase):
    def test_signatures(self):
        for one in read("vectors/signatures.json"):
            with self.subTest(one["name"]):
                headers = {"Webhook-Id": one["id"], "webhook-timestamp": one["timestamp"]}
                headers["webhook-signature"] = one["signature"]
                is_valid = verify_push(headers, one["body"].encode(), *one["secrets"], now=one["now"])
                self.assertEqual(is_valid, one["valid"])

    def test_event_streams(self):
        for one in read("vectors/event-streams.json"):
            with self.subTest(one["name"]):
                chunks = [base64.b64decode(chunk) for chunk in one["chunks_base64"]]
                self.assertEqual(asyncio.run(list_events(chunks)), one["events"])

    def test_problems(self):
        for one in read("vectors/problems.json"):
            with self.subTest(one["code"]):
                body = json.dumps({**one, "detail": f"{one['detail']} the-secret"})
                error = ApiError(httpx.Response(one["status"], headers={"retry-after": "3"}, text=body), "the-secret")
                self.assertEqual([error.code, error.status, error.asked_seconds], [one["code"], one["status"], 3.0])
                self.assertEqual(error.errors, one.get("errors", []))
                self.assertIn(one["title"], str(error))
                self.assertNotIn("the-secret", str(error))

    def test_an_error_without_a_problem(self):
        error = ApiError(httpx.Response(502, text="<html>"), "s")
        self.assertEqual([error.code, error.problem, error.asked_seconds], ["http_502", None, 0.0])

    def test_a_pause_until_a_date(self):
        for given, asked in (("Sat, 01 Jan 2084 00:00:00 GMT", True), ("Sat, 01 Jan 2000 00:00:00 GMT", False), ("soon", False)):
            with self.subTest(given):
                error = ApiError(httpx.Response(503, headers={"retry-after": given}), "s")
                self.assertEqual(error.asked_seconds > 0, asked)

    def test_states(self):
        """Each way in which a task fails has its code, and what refuses a report ends the work on the task."""
        failures = [row["to"] for row in read("states.json") if row["task_done"] and row["to"]]
        codes = {read_failure(task) for task in failures if task["status"] == "failed"}
        self.assertEqual(codes, {"task_failed", "task_cancelled", "task_timeout", "no_agent_available"})
        refusals = {row["refusal"] for row in read("states.json") if "reports" in row["trigger"]} - {None}
        self.assertLessEqual(refusals, {*UNWANTED_CODES, "task_terminal"}, refusals)


if __name__ == "__main__":
    unittest.main()
