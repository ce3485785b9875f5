#!/usr/bin/env python3
"""bank.py PORT [LOST] -- a bank on a bad line; an example of a third party.

POST /payments {"reference": ..., "attempt": 1, "amount": 30} pays, and
GET /payments/REFERENCE?attempt=1 finds a payment.  The bank loses the share LOST
of its answers to payments.  Like a good bank it refuses a payment when it has
heard of a later attempt.  GET /statement lists all payments."""

import json
import random
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

lost = float(sys.argv[2]) if len(sys.argv) > 2 else 0
payments = []  # in order
newest = {}  # reference: the latest attempt that the bank has heard of
one_at_a_time = threading.Lock()


def pay(order):
    reference, attempt = order["reference"], order["attempt"]
    if attempt < newest.get(reference, 0):
        return 409, {"error": "a later attempt is known"}
    newest[reference] = attempt
    payments.append({"reference": reference, "amount": order["amount"], "number": len(payments) + 1})
    return 201, payments[-1]


def find(reference, attempt):
    newest[reference] = max(attempt, newest.get(reference, 0))
    found = [p for p in payments if p["reference"] == reference]
    return (200, found[0]) if found else (404, {})


class Bank(BaseHTTPRequestHandler):
    def do_POST(self):
        order = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with one_at_a_time:
            status, answer = pay(order)
        if random.random() < lost:
            return  # the money has moved, and nobody hears of it
        self.reply(status, answer)

    def do_GET(self):
        url = urlsplit(self.path)
        with one_at_a_time:
            if url.path == "/statement":
                status, answer = 200, payments
            else:
                status, answer = find(unquote(url.path.split("/")[2]), int(parse_qs(url.query)["attempt"][0]))
        self.reply(status, answer)

    def reply(self, status, answer):
        text = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Bank).serve_forever()
