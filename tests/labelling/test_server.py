"""The page and its calls, over a socket as a browser uses them."""

import asyncio
import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from urllib.parse import urlsplit
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the page takes fewlabels[label]")
pytest.importorskip("uvicorn", reason="the page takes fewlabels[label]")

from fewlabels._util.messages import ref
from fewlabels.labelling import learner as learner_module
from fewlabels.labelling.server import PageServer, make_app
from fewlabels.labelling.session import Session
from fewlabels.tables.answers.file import read_answers
from fewlabels.tables.models.files import load_model


class Client:
    def __init__(self, url):
        found = urlsplit(url)
        self.host, self.path = found.netloc, found.path

    def call(self, path, body=None, method=None, **headers):
        line = http.client.HTTPConnection(self.host, timeout=300)
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        given = {"content-type": "application/json"} if data is not None else {}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        where = path if path.startswith("/") else self.path + path
        line.request(method or ("GET" if data is None else "POST"), where, data, given)
        answer = line.getresponse()
        found = answer.status, answer.read(), answer.headers
        line.close()
        return found

    def json(self, path, body=None, status=200):
        got, text, _ = self.call(path, body)
        assert got == status, text
        return json.loads(text)


@pytest.fixture
def client(session):
    running = PageServer(session).start()
    client = Client(running.url)
    for _ in range(2000):
        try:
            client.call("")
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
    yield client
    running.stop()


def answer(row, number=1, **more):
    given = dict(id=f"n{number}", annotator="me", row=row, kind="label", label="ham")
    return {**given, **more}


def test_the_page_is_one_document(client):
    status, text, headers = client.call("")
    page = text.decode()
    assert status == 200 and "{{" not in page
    policy = headers["content-security-policy"]
    nonce = policy.split("'nonce-")[1].split("'")[0]
    assert page.count(f'nonce="{nonce}"') == 2 and "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    for word in ("http://", "https://", " src=", "@import", "url(", "innerHTML", " onclick"):
        assert word not in page, word
    assert client.call("")[2]["content-security-policy"] != policy


def test_the_command_line_shows_flags(client, session):
    session.notes.append(ref("drop", some=["COLUMN"]) + " drops one")
    assert client.json("api/state?annotator=me")["notes"][-1] == "--drop COLUMN drops one"


def test_answers_and_undo(client, session, table):
    state = client.json("api/state?annotator=me")
    assert state["classes"] == ["ham", "spam"] and not state["can_undo"]
    for number in range(12):
        row = state["card"]["row"]
        label = str(table[1][row])
        state = client.json("api/answer", answer(row, number, label=label))
        assert state["card"]["row"] != row and state["n_labels"] == number + 1
    # A second copy of a request, as after a timeout, counts once.
    assert client.json("api/answer", answer(row, 11, label=label))["n_labels"] == 12
    state = client.json("api/undo", {"id": "u", "annotator": "me"})
    assert state["undone"] and state["card"]["row"] == row and state["n_labels"] == 11
    found = read_answers(session.file.path)
    assert len(found.answers) == 13 and len(found.labels()) == 11
    view = client.json("api/overview")
    assert set(view) >= {"shares", "error", "advice", "doubt", "wrong", "positives"}
    for share in view["shares"].values():
        assert ElementTree.fromstring(share["picture"]).attrib["role"] == "img"
    curve = ElementTree.fromstring(view["changed_curve"])
    assert curve.attrib["aria-label"].startswith("Share of predictions changed by each label: ")
    assert view["error_curve"] is None  # too few random rows have a label
    assert client.json("api/class", {"name": "eggs"})["classes"] == ["ham", "spam", "eggs"]
    assert client.json(f"api/row/{row}")["card"]["cells"][3]["text"].startswith("<script>")


def test_the_page_does_not_wait_for_long(client, session, table, monkeypatch):
    """A machine that is slow to follow is not waited for, and has followed all in the end."""
    slow = learner_module.update_model

    go_on = threading.Event()

    def followed(machine, since):
        assert go_on.wait(600)
        return slow(machine, since)

    state, n = client.json("api/state?annotator=me"), 0
    while session.learner.kind != "s3vm" or session.learner.is_busy:
        if n < 12:
            row = state["card"]["row"]
            state = client.json("api/answer", answer(row, n, label=str(table[1][row])))
            n += 1
        time.sleep(0.05)
    monkeypatch.setattr(learner_module, "update_model", followed)
    rows = []
    for number in range(n, n + 4):
        row = state["card"]["row"]
        state = client.json("api/answer", answer(row, number, label=str(table[1][row])))
        rows.append(row)
    assert len(set(rows)) == 4 and not session.learner.is_up_to_date
    go_on.set()
    deadline = time.monotonic() + 300
    while not session.learner.is_up_to_date and time.monotonic() < deadline:
        time.sleep(0.05)
    held = session.learner.model.training_rows_.label
    assert np.array_equal(np.where(held == 0, -1, held > 0), session.learner.codes)


def test_finish(client, session, table, monkeypatch):
    assert "No row has a label" in client.json("api/finish", {}, status=400)["error"]
    assert "no report yet" in client.json("report", status=404)["error"]
    for number, row in enumerate([0, 1, 70, 71, 2, 80]):
        client.json("api/answer", answer(row, number, label=str(table[1][row])))
    session.options |= {"time_budget": 0}
    told = client.json("api/finish", {})
    assert told["state"] == "running" and told["n_labels"] == 6
    assert "already being fitted" in client.json("api/finish", {}, status=400)["error"]
    deadline = time.monotonic() + 600
    while told["state"] == "running" and time.monotonic() < deadline:
        time.sleep(0.2)
        told = client.json("api/finish")
    assert told["state"] == "done" and told["words"] == "s3vm", told
    pipeline = load_model(told["model"])[0]
    assert pipeline.named_steps["model"].training_rows_.label.astype(bool).sum() == 6
    status, text, headers = client.call("report")
    assert status == 200 and text.startswith(b"<!doctype html>")
    assert "sandbox" in headers["content-security-policy"]
    fails = [sys.executable, "-c", "raise SystemExit('Error: no room')"]
    start = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda _, **given: start(fails, **given))
    client.json("api/finish", {})
    while (told := client.json("api/finish"))["state"] == "running":
        time.sleep(0.05)
    assert told["state"] == "failed" and told["words"] == "Error: no room"  # what fails is said


def test_nothing_is_less_sure_without_labels(client):
    words = client.json("api/state")["card"]["why"]
    assert ("sure" not in words and "no model yet" in words) or "at random" in words


def test_every_answer_keeps_the_page_to_itself(client):
    for path in ("", "api/state", "/wrong/", "api/row/x", "api/none", "api/picture/1/note"):
        headers = client.call(path)[2]
        assert headers["cache-control"] == "no-store", path
        assert headers["content-security-policy"].startswith("default-src 'none'"), path
        assert headers["x-content-type-options"] == "nosniff", path


def test_search(client):
    found = client.json("api/search?words=ALERT")["rows"]
    assert len(found) == 100 and client.json("api/search?words=zzz")["rows"] == []


def test_strangers_are_refused(client, session):
    here = f"http://{client.host}"
    good = json.dumps(answer(1)).encode()
    for path, headers, status, words in (
        ("/api/state", {}, 403, "no valid token"),
        ("/wrong/api/state", {}, 403, "no valid token"),
        ("api/answer", {"origin": "https://evil.example"}, 403, "other pages"),
        ("api/answer", {"origin": "null"}, 403, "other pages"),
        ("api/answer", {"sec_fetch_site": "cross-site"}, 403, "other pages"),
        ("api/state", {"host": "evil.example"}, 403, "not served as"),
        ("api/answer", {"content_type": "text/plain"}, 400, "application/json"),
    ):
        body = good if "answer" in path else None
        got, text, _ = client.call(path, body, **headers)
        assert got == status and words in json.loads(text)["error"], path
    assert session.file.answers == []
    assert client.call("api/answer", good, origin=here, sec_fetch_site="same-origin")[0] == 200


def test_bad_requests_are_refused(client, session):
    for body, status, words in (
        (b"x" * 70_000, 413, "larger than"),
        (b"{", 400, "not a JSON object"),
        (b"[" * 60_000, 400, "not a JSON object"),
        (b"[]", 400, "not a JSON object"),
        (b"{}", 400, "has no 'id'"),
        ({**answer(1), "id": None}, 400, "'id' of the request is None, not text"),
        ({**answer(1), "id": ""}, 400, "'' is not a valid id"),
        ({**answer(1), "row": "1"}, 400, "'row' of the request is '1', not a whole number"),
        ({**answer(1), "row": True}, 400, "is True, not a whole number"),
        ({**answer(1), "row": 1.5}, 400, "is 1.5, not a whole number"),
        ({**answer(1), "label": ["ham"]}, 400, "not text or null"),
        ({**answer(1), "annotator": {}}, 400, "'annotator' of the request is {}, not text"),
        (b'{"row": %s}' % (b"9" * 5000), 400, "not a JSON object"),
        (answer(10**9), 400, "There is no row"),
        (answer(1, label="eggs"), 400, "not one of the classes"),
        (answer(1, kind="undo"), 400, "not valid"),
    ):
        got, text, _ = client.call("api/answer", body)
        assert got == status and words in json.loads(text)["error"], text
    for row in ("120", "-1", "x", "1.0", "9" * 5000, "%D9%A1", "1e1", "0x1"):
        for path in (f"api/row/{row}", f"api/picture/{row}/note"):
            assert client.json(path, status=400)["error"].startswith("There is no row ")
    assert client.json("api/row/119")["card"]["row"] == 119
    for name in (None, 3, ["a"], {}, True, "", " ", "x" * 81, "a\nb"):
        client.json("api/class", {"name": name}, status=400)
    client.json("api/class", {}, status=400)
    assert client.json("api/state")["classes"] == ["ham", "spam"]
    with contextlib.suppress(ConnectionResetError):  # it may close before the body was sent
        assert client.call("api/answer", answer(1), content_length="9" * 5000)[0] in (400, 413)
    assert client.call("api/undo", {"id": 1, "annotator": "me"})[0] == 400
    assert client.call("api/finish", b"[]")[0] == 400
    assert "between 0 and 1" in client.json("api/overview?rate=2", status=400)["error"]
    assert client.call("api/picture/1/note")[0] == 404
    assert client.call("api/answer")[0] == 405
    assert session.file.answers == []


def test_a_full_disk_is_said(client, session):
    database = session.file._db
    (pages,) = database.execute("PRAGMA page_count").fetchone()
    database.execute(f"PRAGMA max_page_count = {pages}")
    state = client.json("api/state?annotator=me")
    for number in range(400):
        body = answer(state["card"]["row"], number, id=f"{number:080d}")
        status, text, _ = client.call("api/answer", body)
        if status != 200:
            break
        state = json.loads(text)
    assert status == 507 and "Nothing was saved" in json.loads(text)["error"]
    after = client.json("api/state?annotator=me")
    assert after["n_labels"] == number and after["card"]["row"] == state["card"]["row"]
    database.execute("PRAGMA max_page_count = 100000")
    assert client.json("api/answer", body)["n_labels"] == number + 1


def test_no_answer_is_lost_by_kill_9(table):
    path, truth = table
    said = {}
    for round in range(2):
        command = [sys.executable, "-m", "fewlabels.cli", "label", str(path), "--classes",
                   "ham,spam", "--no-browser"]  # fmt: skip
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        url = server.stdout.readline().split(" at ")[1].strip()
        client, deadline = Client(url), time.monotonic() + 600
        while time.monotonic() < deadline:
            try:
                state = client.json("api/state?annotator=me")
                break
            except ConnectionRefusedError:
                time.sleep(0.1)
        for k in range(3 + 4 * round):
            row = state["card"]["row"]
            state = client.json("api/answer", answer(row, f"{round}.{k}", label=str(truth[row])))
            said[row] = str(truth[row])
        os.kill(server.pid, signal.SIGKILL)
        server.wait()
        server.stdout.close()
        session = Session(path)
        assert session.labels == said
        session.close()


def test_in_a_notebook(table):
    from fewlabels import label

    found = label(table[0], classes=["ham", "spam"])
    try:
        assert found.labels.isna().all() and f'src="{found.url}"' in found._repr_html_()
        row = found.session.card("me")["row"]
        found.session.answer(id="1", annotator="me", row=row, kind="label", label="ham")
        assert found.labels[row] == "ham" and found.labels.notna().sum() == 1
    finally:
        found.stop()


def test_a_client_that_goes_away_is_no_error(session, caplog):
    app, sent = make_app(session, "token", ["http://localhost"]), []
    scope = {
        "type": "http", "http_version": "1.1", "method": "POST", "scheme": "http",
        "path": "/token/api/answer", "raw_path": b"/token/api/answer", "root_path": "",
        "query_string": b"", "server": ("localhost", 80), "client": ("localhost", 1),
        "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
    }  # fmt: skip

    async def receive():
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    assert sent[0]["status"] == 400
    assert not caplog.records
