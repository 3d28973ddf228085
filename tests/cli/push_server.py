"""An endpoint that misbehaves, for tests of tbench push.

    python3 push_server.py FOLDER [CERTIFICATE KEY]

Listens on a port of its own on 127.0.0.1, with TLS where a certificate is named, and writes the port to FOLDER/port. What it does with a
request is the next word of FOLDER/mode (separated by blanks; the last one stays); `random:SEED` draws one for each request. At /api/v1/results it
stores each Idempotency-Key once, as FOLDER/store/KEY (the body, decompressed); elsewhere it knows no key, as many endpoints do, and stores each
request, as FOLDER/store/KEY.NUMBER. What it has stored it acknowledges as the service does whose path it is (SERVICES). FOLDER/log has a line for
each request, FOLDER/again one for each that came although the one before it of its key was told, by such an answer, that it is stored.
FOLDER/headers has the headers of the newest.
"""

import gzip
import hashlib
import http.server
import os
import random
import socket
import ssl
import struct
import sys
import threading
import time

folder = sys.argv[1]
lock = threading.Lock()
generator = None
told = set()  # keys
FAULTS = ["good"] * 5 + ["500", "500-stored", "503", "429:0", "cut-body", "cut-answer", "cut-head", "cut-key", "slow:0.3", "huge", "page", "stranger", "other-key", "nothing"]
# Of a path: what stands in it, the status of what is stored (None: that of tbench serve), and the body.
SERVICES = [
    ("/api/v1/results", None, ""),
    ("/api/v1/import", 204, ""),
    ("/write", 204, ""),
    ("/metrics/job/", 200, ""),
    ("/v0/run", 201, '{"uuid": "5a1c7a2e-0000-8000-8000-000000000001", "results": []}'),
    ("/runs", 301, '{"error": null, "run_id": 1, "success": true}'),
    ("/benchmark-results", 201, '{"id": "0642", "run_id": "r"}'),
]


def next_mode():
    global generator
    with lock:
        with open(folder + "/mode") as file:
            words = file.read().split() or ["good"]
        if words[0].startswith("random:"):
            generator = generator or random.Random(words[0])
            return generator.choice(FAULTS)
        if len(words) > 1:
            with open(folder + "/mode", "w") as file:
                file.write(" ".join(words[1:]))
        return words[0]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def hang_up(self):
        """With a reset, as a process that is killed does."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def note(self, mode, status):
        with lock, open(folder + "/log", "a") as log:
            log.write(f"{self.headers.get('Idempotency-Key')} {mode} {status} {self.command} {self.path}\n")

    def acknowledge(self, mode, status):
        """Tells that it is stored, as the service of this path does; `status`: of store()."""
        if status >= 300:
            self.answer(mode, status)
            return
        key = self.headers.get("Idempotency-Key")
        of_service, text = next((status, text) for part, status, text in SERVICES if part in self.path)
        if of_service is None:
            text = '{"status":"%s","key":"%s"}\n' % ("stored" if status == 201 else "already there", key)
        with lock:
            told.add(key)
        self.answer(mode, of_service or status, text.encode(), headers=[("Location", "/run/1")])

    def answer(self, mode, status, text=b"{}", kind="application/json", headers=()):
        self.note(mode, status)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    def store(self, body):
        key = self.headers.get("Idempotency-Key", "")
        path = f"{folder}/store/{key}"
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        if hashlib.sha256(body).hexdigest() != key:
            return 400
        with lock:
            if "/api/v1/results" not in self.path:
                copies = sum(name.startswith(key) for name in os.listdir(folder + "/store"))
                with open(f"{path}.{copies + 1}", "xb") as file:
                    file.write(body)
                return 200
            if os.path.exists(path):
                return 200
            with open(path, "xb") as file:
                file.write(body)
            return 201

    def handle_post(self):
        mode, _, value = next_mode().partition(":")
        with lock, open(folder + "/headers", "w") as file:
            file.write(str(self.headers))
        with lock:
            if self.headers.get("Idempotency-Key") in told:
                told.remove(self.headers.get("Idempotency-Key"))  # what this one is answered, and sent again for, is another matter
                with open(folder + "/again", "a") as file:
                    file.write(f"{self.headers.get('Idempotency-Key')} {self.path}\n")
        length = int(self.headers.get("Content-Length", 0))
        if mode == "cut-body":
            self.rfile.read(length // 2)
            self.note(mode, 0)
            self.hang_up()
            return
        body = self.rfile.read(length)
        if len(body) < length:
            self.note("short", 0)
            return
        if mode in ("good", "huge", "slow", "cut-answer", "cut-head", "cut-key", "500-stored"):
            status = self.store(body)
        if mode == "good":
            self.acknowledge(mode, status)
        elif mode == "slow":
            time.sleep(float(value))
            self.acknowledge(mode, status)
        elif mode == "cut-key":
            self.note(mode, status)
            self.wfile.write(f'HTTP/1.1 {status} Fine\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{{"status":"stored","ke'.encode())
            self.close_connection = True
        elif mode in ("cut-answer", "cut-head"):
            self.note(mode, 0)
            if mode == "cut-head":
                self.wfile.write(b"HTTP/1.1 201 Created\r\nContent-Le")
            self.hang_up()
        elif mode == "huge":
            self.note(mode, status)
            self.wfile.write(f"HTTP/1.1 {status} Fine\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
            for _ in range(100000):
                self.wfile.write(b"1000\r\n" + b"x" * 4096 + b"\r\n")
            self.wfile.write(b"0\r\n\r\n")
        elif mode == "headers":
            self.note(mode, 0)
            self.wfile.write(b"HTTP/1.1 201 Created\r\n")
            for i in range(100000):
                self.wfile.write(b"X-%d: " % i + b"x" * 1000 + b"\r\n")
        elif mode == "silent":
            self.note(mode, 0)
            time.sleep(float(value))
            self.hang_up()
        elif mode == "gate":  # answers once there is a file of this name
            for _ in range(30000):
                if os.path.exists(folder + "/gate"):
                    break
                time.sleep(0.01)
            self.answer(mode, int(value), b'{"error": "told so"}')
        elif mode in ("500", "500-stored", "503"):
            self.answer(mode, int(mode[:3]), b"out of order", "text/plain")
        elif mode == "429":
            self.answer(mode, 429, b'{"error": "too many requests"}', headers=[("Retry-After", value)])
        elif mode == "page":
            self.answer(mode, 200, b"<html>log in</html>", "text/html")
        elif mode == "stranger":
            self.answer(mode, 200, b"Welcome to the hotel", "text/plain")
        elif mode == "other-key":
            self.answer(mode, 201, b'{"status":"stored","key":"%s"}' % hashlib.sha256(b"another").hexdigest().encode())
        elif mode == "nothing":
            self.answer(mode, 201, b"")
        elif mode == "moved":
            self.answer(mode, 301, b"moved", "text/plain", headers=[("Location", value)])
        elif mode == "redirect":
            self.answer(mode, 307, headers=[("Location", value)])
        elif mode == "plain" and self.headers.get("Content-Encoding"):
            self.answer(mode, 415)
        elif mode == "plain":
            self.acknowledge(mode, self.store(body))
        elif mode == "echo":
            secret = self.headers.get("Authorization", "")
            self.answer(mode, 400, ('{"error": "cases[0]: \\u001b[31mno id; %s"}' % secret).encode())
        elif mode.isdigit():
            self.answer(mode, int(mode), b'{"error": "told so"}')

    def do_POST(self):
        try:
            self.handle_post()
        except OSError:
            self.close_connection = True

    do_PUT = do_POST

    def do_CONNECT(self):
        """As a proxy that lets nobody through."""
        with lock, open(folder + "/headers", "w") as file:
            file.write(str(self.headers))
        self.answer("connect", 403)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        pass


os.makedirs(folder + "/store", exist_ok=True)
server = Server(("127.0.0.1", 0), Handler)
if len(sys.argv) > 2:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2], sys.argv[3])
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
with open(folder + "/port.part", "w") as file:
    file.write(str(server.server_address[1]))
os.rename(folder + "/port.part", folder + "/port")
server.serve_forever()
