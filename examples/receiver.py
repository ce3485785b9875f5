#!/usr/bin/env python3
"""receiver.py PORT SECRET_FILE -- receives tasks as HTTP requests; an example.

Checks the signature, does each task once however often it is sent, and says
what became of it."""

import base64
import hashlib
import hmac
import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

secrets = [line.strip() for line in open(sys.argv[2]) if line.strip()]
done = set()  # a table of your database, with the id as its primary key


def is_genuine(headers, body):
    sent = int(headers.get("webhook-timestamp", 0))
    signed = "{webhook-id}.{webhook-timestamp}.".format(**headers).encode() + body
    right = [hmac.new(base64.b64decode(s.removeprefix("whsec_")), signed, hashlib.sha256) for s in secrets]
    given = headers.get("webhook-signature", "").split()
    return abs(time.time() - sent) < 300 and any(
        hmac.compare_digest(g, "v1," + base64.b64encode(r.digest()).decode()) for g in given for r in right)


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not is_genuine(dict(self.headers), body):
            return self.reply(401, {})
        task = self.headers["Twtasks-Id"]
        if task not in done:  # the id is the same in every try
            print(self.headers["Twtasks-Type"], json.loads(body), flush=True)
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
