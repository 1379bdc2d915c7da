"""Somebody who answers as fast as the server does, until it is gone."""

import json
import sys
import time
import urllib.error
import urllib.request

url, number = sys.argv[1:]


def call(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url + path, data, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


card, count, started = None, 0, time.monotonic()
while True:
    try:
        card = card or call("api/state?annotator=me")["card"]
        id, row, label = f"{number}.{count}", card["row"], ("yes", "no")[count % 2]
        print("sent", id, row, label, flush=True)
        given = {"id": id, "annotator": "me", "row": row, "kind": "label", "label": label}
        card = call("api/answer", given)["card"]
        print("confirmed", id, row, label, flush=True)
        count += 1
    except (OSError, urllib.error.URLError, json.JSONDecodeError):
        if card or time.monotonic() > started + 30:
            break
