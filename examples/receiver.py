#!/usr/bin/env python3
"""receiver.py PORT SECRET_FILE -- receives tasks as HTTP requests; an example.

It checks the signature, does each task once however often it is sent, and
answers with the result."""

import base64
import hashlib
import hmac
import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

lines = [line.strip() for line in open(sys.argv[2]) if line.strip()]
secrets = [base64.b64decode(s[6:]) if s.startswith("whsec_") else s.encode() for s in lines]
done = set()  # in production: a table with the id as its primary key
one_at_a_time = threading.Lock()  # in production: a transaction


def is_genuine(headers, body):
    task, sent, given = (headers.get("webhook-" + name, "") for name in ("id", "timestamp", "signature"))
    if not (sent.isdecimal() and abs(time.time() - int(sent)) < 300):
        return False
    signed = f"{task}.{sent}.".encode() + body
    right = [b"v1," + base64.b64encode(hmac.digest(s, signed, hashlib.sha256)) for s in secrets]
    return any(hmac.compare_digest(g.encode(), r) for g in given.split() for r in right)


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not is_genuine(self.headers, body):
            return self.reply(401, {})
        task = self.headers["Twtasks-Id"]
        is_json = self.headers["Content-Type"] == "application/json"  # otherwise the body is the payload
        data = json.loads(body or "null") if is_json else body
        with one_at_a_time:
            if task not in done:  # the id is the same in every try
                print(self.headers["Twtasks-Type"], data, flush=True)
                done.add(task)
        later = self.headers["Twtasks-Type"] == "TRANSFER_OUT"
        self.reply(200, {"result": "accepted" if later else "done"})

    def reply(self, status, answer):
        text = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
