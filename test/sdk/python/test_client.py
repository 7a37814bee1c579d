"""The clients and an agent in one process, at the gateway of the environment."""

import asyncio
import threading
import unittest
import uuid

import httpx

from task_gateway import Agent, ApiError, AsyncClient, Client, TaskFailedError
from task_gateway.errors import GatewayConnectionError, InvalidOptionError

SCHEMA = {"type": "object", "properties": {"go": {"type": "boolean"}}}
TASK = {"task_type": "try", "task_tags": ["try"]}


def handle(task, context):
    what = task["payload"]["what"]
    if what == "ask":
        context.write("I ask. ")
        return {"answer": context.ask("Go on?", SCHEMA)}
    if what == "wait":
        context.stopped.wait(600)
        raise context.reason
    if what == "list":
        return [1]
    for number in range(300):
        context.write(f"{number} " + "x" * 1000)
    return what.upper()


class Tries(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.said = []
        cls.agent = Agent(handle, tags=["try"], max_concurrent=3, say=cls.said.append)
        cls.thread = threading.Thread(target=cls.agent.run)
        cls.thread.start()
        cls.client = Client()
        cls.addClassCleanup(cls.client.close)

    @classmethod
    def tearDownClass(cls):
        cls.agent.stop()
        cls.agent.stop()
        cls.thread.join(30)
        assert not cls.thread.is_alive()
        assert cls.said[-1].startswith("stopped: "), cls.said

    def test_an_answer_from_within_a_callback(self):
        """A callback is called in the thread of the caller, and may call the client."""
        threads, items = set(), []

        def show(item):
            threads.add(threading.current_thread())
            items.append(item)
            if "question" in item:
                self.client.answer_task(request_id, item["question"]["key"], {"go": True})

        request_id = self.client.submit_task(**TASK, payload={"what": "ask"}, queue_timeout=30)["request_id"]
        task = self.client.follow_task(request_id, on_output=show)
        self.assertEqual(task["result"], {"answer": {"go": True}})
        self.assertEqual(threads, {threading.current_thread()})
        self.assertEqual([item["n"] for item in items if "n" in item], [1, 2, 3, 4])
        self.assertEqual(items[-1]["outcome"], "success")
        with self.assertRaises(ApiError) as raised:
            self.client.answer_task(request_id, "k", 1)
        self.assertEqual([raised.exception.code, raised.exception.status], ["task_terminal", 400])

    def test_what_a_callback_raises(self):
        with self.assertRaises(ZeroDivisionError):
            self.client.run_task(**TASK, payload={"what": "a"}, on_output=lambda item: 1 // 0)

    def test_a_long_output_in_order(self):
        task = self.client.run_task(**TASK, payload={"what": "a"})
        self.assertEqual(task["result"], {"output": "A"})
        text = "".join(piece.get("text", "") for piece in self.client.read_output(task["request_id"]))
        self.assertEqual(text, "".join(f"{number} " + "x" * 1000 for number in range(300)))
        rest = list(self.client.read_output(task["request_id"], after=2))
        self.assertEqual([rest[0]["n"], rest[-1]["end"]], [3, True])

    def test_events_of_a_session(self):
        session = str(uuid.uuid4())
        ids = [
            self.client.run_task(**TASK, payload={"what": what}, cli_session_id=session)["request_id"]
            for what in ("a", "b", "c")
        ]
        kinds, seen = [], []
        for event in self.client.subscribe_events(session, on_notice=lambda kind, error: kinds.append(kind)):
            seen.append(event["request_id"])
            if len(seen) == 3:
                break
        self.assertEqual([kinds, seen], [["open"], ids])

    def test_failures_have_classes_and_advice(self):
        with self.assertRaises(TaskFailedError) as raised:
            self.client.run_task(task_type="try", task_tags=["trie"], payload={}, queue_timeout=0)
        self.assertEqual(raised.exception.code, "no_agent_available")
        self.assertIn("Start an agent", str(raised.exception))
        self.assertEqual(raised.exception.request_id, raised.exception.task["request_id"])
        with self.assertRaisesRegex(TaskFailedError, "must return a dict, a text or None, and not list") as failed:
            self.client.run_task(**TASK, payload={"what": "list"})
        history = self.client.explain_task(failed.exception.request_id)["history"]
        self.assertEqual([history[0]["event"], history[-1]["event"]], ["submitted", "failed"])
        with self.assertRaises(ApiError) as refused:
            self.client.submit_task(task_type="", task_tags=["try"], payload={})
        self.assertEqual(refused.exception.errors[0]["pointer"], "/task_type")
        self.assertIsNotNone(refused.exception.idempotency_key)

    def test_a_cancelled_run_cancels_its_task(self):
        async def main():
            async with AsyncClient() as client:
                running, key = asyncio.Event(), str(uuid.uuid4())

                async def show(item):
                    if item.get("status") == "running":
                        running.set()

                run = asyncio.create_task(
                    client.run_task(
                        **TASK, payload={"what": "wait"}, on_output=show, cancel_on_abort=True, idempotency_key=key
                    )
                )
                await asyncio.wait_for(running.wait(), 60)
                # The same key and content find the task.
                again = {**TASK, "payload": {"what": "wait"}, "queue_timeout": 30}
                request_id = (await client.submit_task(**again, idempotency_key=key))["request_id"]
                run.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await run
                return (await client.wait_task(request_id))["error_info"]

        self.assertEqual(asyncio.run(main()), "cancelled by user")

    def test_a_run_that_is_cancelled_while_it_submits_cancels_its_task(self):
        async def main():
            sent, gate = asyncio.Event(), asyncio.Event()

            class Held(httpx.AsyncHTTPTransport):
                """Holds the response to a submission back."""

                async def handle_async_request(self, request):
                    response = await super().handle_async_request(request)
                    if request.url.path == "/api/cli/tasks":
                        sent.set()
                        await gate.wait()
                    return response

            async with AsyncClient(http=httpx.AsyncClient(transport=Held())) as client:
                key, task = str(uuid.uuid4()), {**TASK, "payload": {"what": "wait"}, "queue_timeout": 30}
                run = asyncio.create_task(client.run_task(**task, cancel_on_abort=True, idempotency_key=key))
                await sent.wait()
                run.cancel()
                gate.set()
                with self.assertRaises(asyncio.CancelledError):
                    await run
                return (await client.submit_task(**task, idempotency_key=key))["request_id"]

        self.assertEqual(self.client.wait_task(asyncio.run(main()))["error_info"], "cancelled by user")

    def test_a_match_without_a_task(self):
        preview = self.client.preview_match(["try"])
        self.assertIn(self.agent.agent_id, [one["agent_id"] for one in preview["match"]["agents"]])

    def test_options(self):
        with self.assertRaisesRegex(InvalidOptionError, "base_url"):
            Client(base_url="nowhere")
        with Client(base_url="http://127.0.0.1:9", max_retries=0) as nowhere:
            with self.assertRaisesRegex(GatewayConnectionError, "No response from the gateway at http://127.0.0.1:9"):
                nowhere.get_task("a")
        with Client(auth=lambda: "wrong") as wrong, self.assertRaises(ApiError) as refused:
            wrong.get_task("a")
        self.assertEqual([refused.exception.code, refused.exception.attempts], ["unauthorized", 1])
        with self.assertRaises(ApiError):
            Agent(handle, tags=["try"], auth="wrong", say=self.said.append).run()


if __name__ == "__main__":
    unittest.main()
