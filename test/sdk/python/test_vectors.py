"""The package on the data of the conformance kit: signatures, event streams, problems and states."""

import base64
import json
import os
import pathlib
import unittest

import httpx

from task_gateway import verify_push
from task_gateway.errors import UNWANTED_CODES, outcome_of
from task_gateway.events import EventParser
from task_gateway.transport import read_error

FOLDER = pathlib.Path(os.environ["CONFORMANCE_DATA"])


def read(name):
    return json.loads((FOLDER / name).read_text("utf-8"))


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
                parser = EventParser()
                events = [event for chunk in one["chunks_base64"] for event in parser.feed(base64.b64decode(chunk))]
                self.assertEqual([event._asdict() for event in events], one["events"])

    def test_problems(self):
        for one in read("vectors/problems.json"):
            with self.subTest(one["code"]):
                body = json.dumps({**one, "detail": f"{one['detail']} the-secret"})
                error = read_error(httpx.Response(one["status"], headers={"retry-after": "3"}, text=body), "the-secret")
                self.assertEqual([error.code, error.status, error.asked_seconds], [one["code"], one["status"], 3.0])
                self.assertEqual(error.errors, one.get("errors", []))
                self.assertIn(one["title"], str(error))
                self.assertNotIn("the-secret", str(error))

    def test_an_error_without_a_problem(self):
        error = read_error(httpx.Response(502, text="<html>"), "s")
        self.assertEqual([error.code, error.problem, error.asked_seconds], ["http_502", None, 0.0])

    def test_states(self):
        """Each way in which a task ends has its outcome, and what refuses a report ends the work on the task."""
        ends = {
            (row["to"]["status"], row["to"]["error_info"])
            for row in read("states.json")
            if row["task_done"] and row["to"]
        }
        outcomes = {outcome_of({"status": status, "error_info": text}) for status, text in ends}
        self.assertEqual(outcomes, {"success", "failed", "cancelled", "timeout", "no_agent", "agent_lost"})
        refusals = {row["refusal"] for row in read("states.json") if "reports" in row["trigger"]} - {None}
        self.assertLessEqual(refusals, {*UNWANTED_CODES, "task_terminal"}, refusals)


if __name__ == "__main__":
    unittest.main()
