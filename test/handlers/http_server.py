#!/usr/bin/env python3
"""http_server.py RECORD [CERTIFICATE KEY [GATE]] -- an HTTP server of the tests, that
behaves and misbehaves as it is told.

Listens on the port HTTP_PORT of 127.0.0.1, or a free one, prints it, and ends at the end of its
stdin.  Waits at the fifo GATE before it makes a connection secure, and writes
"waits" to RECORD.gate before that.  Appends each request that was read to RECORD as a line of JSON.  Its
answer is set by the request's body, a JSON object, or by the query of its URL,
URL-encoded likewise; both are optional.  Members:

    status, reason     of the answer; 200 and OK
    headers            more of them, a list of [name, value]
    type               Content-Type of the answer
    body               of the answer; repeat: so many times
    raw                all of the answer, byte for byte
    how                reset   breaks the connection instead of an answer
                       close   closes it
                       hang    does not answer
                       partial announces more than it sends
                       endless never ends the body
                       drip    sends a byte of the body now and then
                       headers never ends the headers
    gate               waits at this fifo before it answers
    next               the orders for the next request on this connection,
                       which come before that request's own
"""

import json
import os
import socket
import ssl
import struct
import sys
import threading
import time
import urllib.parse

record = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
context = None
if len(sys.argv) > 2:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2], sys.argv[3])


def read_request(file):
    line = file.readline().decode()
    if not line:
        return None
    method, target, _ = line.split()
    headers = []
    for header in iter(lambda: file.readline().decode("latin-1"), "\r\n"):
        if not header:
            return None
        name, value = header.rstrip("\r\n").split(":", 1)
        headers.append([name, value.strip()])
    length = int(dict((n.lower(), v) for n, v in headers).get("content-length", 0))
    body = file.read(length)
    return {"method": method, "target": target, "headers": headers, "body": body}


def note(request, connection):
    line = dict(request, body=request["body"].decode("latin-1"), connection=connection, at=time.time())
    os.write(record, (json.dumps(line) + "\n").encode())


def orders_of(request):
    for text in urllib.parse.urlsplit(request["target"]).query, request["body"]:
        try:
            orders = json.loads(urllib.parse.unquote(text) if isinstance(text, str) else text)
            if isinstance(orders, dict):
                return orders
        except ValueError:
            pass
    return {}


def head_of(orders, length):
    lines = ["HTTP/1.1 %d %s" % (orders.get("status", 200), orders.get("reason", "OK"))]
    lines += ["%s: %s" % tuple(header) for header in orders.get("headers", [])]
    if "type" in orders:
        lines.append("Content-Type: " + orders["type"])
    if length is not None:
        lines.append("Content-Length: %d" % length)
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def for_ever(connection, head, bytes_, pause=0.0):
    connection.sendall(head)
    while True:
        connection.sendall(bytes_)
        time.sleep(pause)


def misbehave(how, connection, orders, body):
    """Returns when the connection is to be closed."""
    if how == "reset":
        reset(connection)
    elif how == "hang":
        connection.recv(1)
    elif how == "partial":
        connection.sendall(head_of(orders, len(body) + 1000) + body)
    elif how == "endless":
        for_ever(connection, head_of(orders, None), b"x" * 65536)
    elif how == "drip":
        for_ever(connection, head_of(orders, 1000000), b"x", 0.02)
    elif how == "headers":
        for_ever(connection, b"HTTP/1.1 200 OK\r\n", b"X-More: and more of them\r\n" * 100)


def answer(connection, orders):
    """Whether the connection is to be kept."""
    body = (orders.get("body", "") * orders.get("repeat", 1)).encode()
    how = orders.get("how")
    if "gate" in orders:
        with open(orders["gate"], "rb", 0) as gate:
            gate.read(1)
    if "raw" in orders:
        connection.sendall(orders["raw"].encode("latin-1"))
        return False
    if how is not None:
        misbehave(how, connection, orders, body)
        return False
    connection.sendall(head_of(orders, len(body)) + body)
    return True


def wait_at_gate():
    with open(sys.argv[1] + ".gate", "a") as file:
        file.write("waits\n")
    with open(sys.argv[4], "rb", 0) as gate:
        gate.read(1)


def serve(connection, number):
    try:
        if len(sys.argv) > 4:
            wait_at_gate()
        if context:
            connection = context.wrap_socket(connection, server_side=True)
        file = connection.makefile("rb")
        then = None
        while request := read_request(file):
            note(request, number)
            orders = then or orders_of(request)
            if not answer(connection, orders):
                break
            then = orders.get("next")
        file.close()
    except OSError:
        pass
    finally:
        connection.close()


def listen():
    listener = socket.create_server(("127.0.0.1", int(os.environ.get("HTTP_PORT", "0"))), backlog=200)
    print(listener.getsockname()[1], flush=True)
    number = 0
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        number += 1
        threading.Thread(target=serve, args=(connection, number), daemon=True).start()


threading.Thread(target=listen, daemon=True).start()
sys.stdin.read()
os._exit(0)
