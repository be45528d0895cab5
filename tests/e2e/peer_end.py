#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""An end of `selftest --peer` that behaves as its argument says, for tests of the other end.

peer_end.py listen|connect PORT BEHAVIOUR

It speaks the protocol of src/selftest/peer_message.h by its own description of it. Prints what the
other end did: "hello", "ready KIND FROM_LISTENER", "closed". With FLOODED=PID, `flood` prints how many
descriptors that process has.
"""
import os, socket, struct, sys, time

HELLO, READY, GO, SENT, SEEN, BYE = range(6)
SIZE = {HELLO: 96 + 4 + 6 + 16 + 4, READY: 8 + 32 + 16 + 8, GO: 36, SENT: 36, SEEN: 2 + 64 + 64, BYE: 0}
KINDS = 6


def message(kind, body, version=1, length=None, magic=b"rdumpeer"):
    return magic + struct.pack(">HHI", version, kind, len(body) if length is None else length) + body


def hello(mac=b"\x02\0\0\0\0\x55", program=b"test", gid_type=2, link=0):
    return (program.ljust(32, b"\0") + b"test".ljust(32, b"\0") + b"sniffer".ljust(32, b"\0") +
            bytes([link, 1, 1, gid_type]) + mac + bytes(10) + b"\xff\xff\x0a\x4d\0\x09" + struct.pack(">I", 0))


def ready(kind, from_listener, error=b"ENODEV", mtu=1024, qpn=0):
    return (struct.pack(">II", kind, from_listener) + error.ljust(32, b"\0") +
            struct.pack(">IIIIQ", 0, qpn, 0, mtu, 0))


def receive(s):
    head = b""
    while len(head) < 16:
        more = s.recv(16 - len(head))
        if not more:
            return None, b""
        head += more
    kind, length = struct.unpack(">HI", head[10:])
    assert head[:10] == b"rdumpeer\0\1" and length == SIZE[kind], head
    body = b""
    while len(body) < length:
        body += s.recv(length - len(body))
    return kind, body


HELLOS = {
    "garbage": b"GET / HTTP/1.1\r\nHost: peer\r\n\r\n",
    "version": message(HELLO, hello(), version=7),
    "long": message(HELLO, hello(), length=0xffffffff),
    "short": message(HELLO, hello()[:-1]),
    "type": message(99, b""),
    "order": message(READY, ready(0, 0)),
    "group": message(HELLO, hello(mac=b"\x01\0\x5e\0\0\1")),
    "nobody": message(HELLO, hello(mac=bytes(6))),
    "text": message(HELLO, hello(program=b"\x1b[2J")),
    "endless": message(HELLO, hello(program=b"x" * 32)),
    "gid": message(HELLO, hello(gid_type=3)),
    "nothing": b"",
}


def flood(port):
    """1000 connections that are no peers; each second one stays, some in the middle of a message."""
    starts = [b"", HELLOS["garbage"], message(HELLO, hello())[:20], HELLOS["text"], b"rdum", HELLOS["long"],
              message(HELLO, hello())[:-1], HELLOS["type"]]
    kept = []
    for i in range(1000):
        s = socket.create_connection(("127.0.0.1", port))
        try:
            s.sendall(starts[i % len(starts)])
        except OSError:
            pass
        if i % 2:
            s.close()
        else:
            kept.append(s)
    print("descriptors", len(os.listdir("/proc/%s/fd" % os.environ["FLOODED"])))
    return kept


def second(port):
    """Another peer, while one is served."""
    try:
        s = socket.create_connection(("127.0.0.1", port))
        s.sendall(message(HELLO, hello()))
        print("second", "served" if receive(s)[0] == HELLO else "closed")
    except OSError:
        print("second closed")


def run(s, behaviour, port):
    name, _, number = behaviour.partition("=")
    if name in HELLOS:
        s.sendall(HELLOS[name])
        if name != "nothing":
            s.settimeout(60)
        kind, _ = receive(s)
        print("hello" if kind == HELLO else "closed")
        if kind is not None:
            print("closed" if receive(s)[0] is None else "more")
        return
    s.sendall(message(HELLO, hello(link=name == "infiniband")))
    print("hello" if receive(s)[0] == HELLO else "closed")
    if name == "two":
        second(port)
    for i in range(2 * KINDS):
        kind, body = receive(s)
        if kind is None:
            print("closed")
            return
        k, from_listener = struct.unpack(">II", body[:8])
        print("ready", k, from_listener)
        if name == "dies" and i == int(number):
            return
        if name == "silent" and i == int(number):
            while s.recv(4096):
                pass
            print("closed")
            return
        if name == "again" and i == int(number):
            k, from_listener = 0, 0
        if name == "number" and i == int(number):
            k = 200
        s.sendall(message(READY, ready(k, from_listener, mtu=0 if name == "mtu" else 1024, qpn=name == "mtu")))
    s.sendall(message(BYE, b""))
    print("bye" if receive(s)[0] == BYE else "closed")


def main():
    role, port, behaviour = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    if role == "listen":
        listener = socket.create_server(("127.0.0.1", port))
        print("listening", flush=True)
        s, _ = listener.accept()
    else:
        others = []
        for _ in range(3000):
            try:
                s = socket.create_connection(("127.0.0.1", port))
                break
            except ConnectionRefusedError:
                time.sleep(0.02)
        if behaviour == "flood":
            s.close()
            others = flood(port)
            s = socket.create_connection(("127.0.0.1", port))
    s.settimeout(100)
    try:
        run(s, behaviour, port)
    except (ConnectionError, BrokenPipeError):
        print("closed")


main()
