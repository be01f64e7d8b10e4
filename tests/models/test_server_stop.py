"""A server's work is called off at once: by a newer edit, by Ctrl-C, by an error; and nothing is left behind."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.errors import Cancelled, ServerError
from opd_widgets.models.server_work import finish
from tests import tiny
from tests.models.stub_server import Reply, ServedModel, serving
from tests.models.stub_server import client as make_client

SOON = 1.0  # seconds; measured: 0.02
LATE = 30.0  # what a slow answer takes


@contextmanager
def never_answering():
    """Listen, read requests and say nothing; yield the address and the connections."""
    listener = socket.create_server(("127.0.0.1", 0))
    found: list[socket.socket] = []

    def accept():
        while True:
            try:
                found.append(listener.accept()[0])
            except OSError:
                return

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", found
    finally:
        for one in (listener, *found):
            one.close()


def stop_after(seconds):
    began = time.monotonic()

    def checkpoint():
        if time.monotonic() - began > seconds:
            raise Cancelled

    return checkpoint


def is_closed(connection):
    """Whether the other side has hung up, once all it sent is read."""
    connection.settimeout(SOON)
    while data := connection.recv(65536):
        assert data
    return True


def workers():
    return [
        thread.name for thread in threading.enumerate() if thread.name.startswith(("opd-widgets-server", "asyncio"))
    ]


def test_outstanding_requests_are_taken_back_and_their_connections_closed():
    with never_answering() as (url, connections):
        client = make_client(url, timeout=60.0)
        began = time.monotonic()
        with pytest.raises(Cancelled):
            client.wait(client.each(lambda _: client.ask("/x", {"a": 1}), range(9)), stop_after(0.3))
        took = time.monotonic() - began - 0.3
        assert took < SOON
        assert not workers()
        assert len(connections) == 4
        assert all(map(is_closed, connections))


def test_a_pause_between_two_tries_is_called_off_too():
    with serving(lambda _: Reply({}, 429, {"retry-after": "30"})) as stub:
        client = make_client(stub.url, timeout=60.0)
        began = time.monotonic()
        with pytest.raises(Cancelled):
            client.wait(client.ask("/x", {}), stop_after(0.2))
        assert time.monotonic() - began < 0.2 + SOON
    assert not workers()


def test_the_first_error_takes_the_others_back():
    with never_answering() as (url, connections):
        client = make_client(url, timeout=60.0, retries=0)

        async def one(item):
            if item:
                return await client.ask("/x", {})
            await asyncio.sleep(0.2)  # the others are under way
            msg = "first"
            raise ServerError(msg)

        began = time.monotonic()
        with pytest.raises(ServerError, match="first"):
            client.wait(client.each(one, range(4)))
        assert time.monotonic() - began < 0.2 + SOON
        assert len(connections) == 3
        assert all(map(is_closed, connections))
    assert not workers()


def test_it_can_be_waited_for_where_a_loop_runs_already():
    async def notebook():
        return finish(asyncio.sleep(0.01, "done"))

    assert asyncio.run(notebook()) == "done"


class Slow(ServedModel):
    """Answers the self-test at once, and what comes after it late."""

    ready = asked = False

    def completions(self, body):
        if self.ready:
            self.asked = True
            time.sleep(LATE)
        return super().completions(body)


def test_a_cancelled_edit_of_a_served_teachers_context_ends_at_once():
    question = opd.Question("q", "1+2=?")
    student, served = tiny.model(0, vocab=50), Slow(tiny.model(1, vocab=50))
    rollouts = opd.sample_rollouts([question], student, n=2, max_new_tokens=8, seed=1)
    with serving(served) as stub:
        remote = opd.ServerModel(stub.url, "tiny", tokenizer=student, retries=0)
        teachers = {"there": opd.Teacher(remote, context=opd.contexts.free_text("it is 3"))}
        with pytest.warns(UserWarning, match="engine"):
            explorer = opd.Explorer(rollouts, student, teachers)
        served.ready = True
        asked = len(stub.requests)
        first = explorer.set_context("there", "it is 4")
        _wait_for_a_request(stub, asked)
        began, asked = time.monotonic(), len(stub.requests)
        second = explorer.set_context("there", "it is 5")  # the newest edit wins
        assert first.wait(SOON)
        assert time.monotonic() - began < SOON
        _wait_for_a_request(stub, asked)
        began = time.monotonic()
        assert explorer.live_scoring().cancel("there", "q")
        assert second.wait(SOON)
        assert time.monotonic() - began < SOON
        assert isinstance(first.error, Cancelled)
        assert isinstance(second.error, Cancelled)
        assert not workers()
        explorer.close()


def _wait_for_a_request(stub, asked):
    deadline = time.monotonic() + 10
    while len(stub.requests) == asked:
        assert time.monotonic() < deadline
        time.sleep(0.005)


DRIVER = """
import signal, sys, time, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs begin with it ignored
import numpy as np
import opd_widgets as opd
from tests import tiny
remote = opd.ServerModel(sys.argv[1], "tiny", tokenizer=tiny.model(0))
remote.limit
print("ready", flush=True)
sys.stdin.readline()
try:
    remote.token_logprobs([np.arange(6, 20, dtype=np.int32)], [1], 5)
except KeyboardInterrupt:
    stopped = time.time()
    while threading.active_count() > 1 and time.time() < stopped + 5:  # on a busy machine it may be a little late
        time.sleep(0.01)
    print(stopped, threading.active_count(), flush=True)
"""


def test_ctrl_c_ends_it_at_once():
    served = Slow(tiny.model(0))
    with serving(served) as stub:
        command = [sys.executable, "-c", DRIVER, stub.url]
        with subprocess.Popen(
            command, cwd=Path(__file__).parents[2], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout.readline() == "ready\n"
            served.ready = True
            process.stdin.write("ask\n")
            process.stdin.flush()
            waited = time.time()
            while not served.asked and time.time() < waited + 30:
                time.sleep(0.01)
            began = time.time()
            process.send_signal(signal.SIGINT)
            said = process.stdout.readline().split()
            assert process.wait(10) == 0
    assert float(said[0]) - began < SOON
    assert said[1] == "1"


def test_an_answer_that_came_before_the_stop_is_not_asked_for_again():
    sequences = [np.arange(6, 14 + i, dtype=np.int32) for i in range(3)]
    served = ServedModel(tiny.model(0))
    with serving(served) as stub:
        remote = opd.ServerModel(stub.url, "tiny", tokenizer=tiny.model(0), retries=0, concurrency=1)
        whole = remote.token_logprobs(sequences, [1] * 3, 4)
        asked = len(stub.requests)
        kept: dict[str, Any] = {}

        def checkpoint():
            if len(kept) == 2:
                raise Cancelled

        with pytest.raises(Cancelled):
            remote.token_logprobs(sequences, [1] * 3, 4, checkpoint=checkpoint, kept=Late(kept))
        again = remote.token_logprobs(sequences, [1] * 3, 4, kept=kept)
        sent = [request.body["prompt"] for request in stub.requests[asked:]]
    assert sent.count(sequences[0].tolist()) == sent.count(sequences[1].tolist()) == 1
    for one, other in zip(whole, again, strict=True):
        for name, values in vars(one).items():
            np.testing.assert_array_equal(values, getattr(other, name))


class Late(dict):
    """Keeps into another mapping, slowly: there is time to stop."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def __setitem__(self, key, value):
        self.inner[key] = value
        time.sleep(0.2)
