"""The live page and the metrics answer only whom they should: report_live.py PAGE METRICS."""

import http.client
import json
import os
import re
import socket
import sys
import time
import urllib.parse


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def ask(address, path=None, method="GET", **headers):
    parts = urllib.parse.urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)
    connection.request(method, path or parts.path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    return answer.status, answer.read().decode(), dict(answer.getheaders())


page, metrics = sys.argv[1:]
parts = urllib.parse.urlsplit(page)
check(parts.hostname == "127.0.0.1" and re.fullmatch(r"/[0-9a-f]{32}/", parts.path), f"the address {page}")

status, text, headers = ask(page)
check(status == 200 and "<script" in text and headers["X-Frame-Options"] == "DENY", f"the page: {status}")
check("connect-src 'self'" in text, "the page may not ask for its data")
status, text, headers = ask(page, parts.path + "data.json")
data = json.loads(text)
check(status == 200 and data["live"] and data["runs"][0]["state"] == "running", f"the data: {status} {text[:200]}")
before = data["runs"][0]["steps"]["step"][-1]
end = time.monotonic() + 60
while True:  # it goes on
    data = json.loads(ask(page, parts.path + "data.json")[1])
    if data["runs"][0]["steps"]["step"][-1] > before:
        break
    check(time.monotonic() < end, "the page does not go on")
    time.sleep(0.1)

host = f"{parts.hostname}:{parts.port}"
for what, expected, answer in [
    ("no token", 404, ask(page, "/")),
    ("another token", 404, ask(page, "/" + "0" * 32 + "/")),
    ("a path beyond", 404, ask(page, parts.path + "../etc/passwd")),
    ("another origin", 403, ask(page, Origin="http://example.org")),
    ("a page from elsewhere", 403, ask(page, Sec_Fetch_Site="cross-site")),
    ("a name that points here", 421, ask(page, Host="evil.example.org")),
    ("POST", 405, ask(page, method="POST")),
    ("PUT", 405, ask(page, method="PUT")),
    ("DELETE", 405, ask(page, method="DELETE")),
    ("OPTIONS", 405, ask(page, method="OPTIONS")),
    ("a long head", 431, ask(page, X_Long="x" * 20000)),
    ("POST to the metrics", 405, ask(metrics, method="POST")),
    ("metrics elsewhere", 404, ask(metrics, "/")),
    ("metrics for another origin", 403, ask(metrics, Origin="http://example.org")),
]:
    check(answer[0] == expected, f"{what} is answered {answer[0]}, expected {expected}")
    check(re.search(r"[0-9a-f]{32}", answer[1]) is None, f"{what} is told the token")
check(ask(page, Origin="http://" + host)[0] == 200, "its own origin is refused")

# Bytes that are no request, and a client that says nothing, keep nobody else away for long.
for rubbish in (b"\0\xff\r\n\r\n", b"GET\r\n\r\n", b""):
    with socket.create_connection((parts.hostname, parts.port)) as idle:
        idle.sendall(rubbish)
        check(ask(page)[0] == 200, f"after {rubbish} the page is gone")

# Loopback only: the machine's other addresses do not answer.
try:
    addresses = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
except socket.gaierror:  # a machine that does not know its own name
    addresses = set()
for address in addresses - {"127.0.0.1"}:
    if address.startswith("127."):
        continue
    try:
        socket.create_connection((address, parts.port), timeout=2).close()
        sys.exit(f"FAILED: {address} answers")
    except OSError:
        pass

status, text, headers = ask(metrics)
check(status == 200 and headers["Content-Type"].startswith("text/plain; version=0.0.4"), f"metrics: {status}")
values = {}
for line in text.splitlines():
    if line.startswith("#"):
        check(re.fullmatch(r"# (HELP|TYPE) [a-z_]+ .+", line), line)
        continue
    match = re.fullmatch(r'([a-z_]+)(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? (\S+)', line)
    check(match, f"no line of Prometheus's: {line}")
    values[match[1] + (match[2] or "")] = float(match[4])
used, limit = values['plimsoll_memory_used_bytes{device="cpu:0"}'], values['plimsoll_memory_limit_bytes{device="cpu:0"}']
check(0 < used <= limit == 8 << 20, f"{used} of {limit}")
check(values["plimsoll_steps_total"] >= 5 and values["plimsoll_elements_total"] > 0, "no steps")
check(any(name.startswith("plimsoll_memory_tag_bytes") for name in values), "no tags")
