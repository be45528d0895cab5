#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes files with any bytes wherever their format has text, and judges what was printed of them.

capture FILE TEXT      a pcapng capture: every option, facts, MADs; the second section has another interface
tree SYSFS DIR TEXT    a sysfs tree (of the tar.gz in SYSFS) with the text in its files and names
counters FILE TEXT     what `counters --json` prints
judge FILE...          complains of each byte that a terminal obeys
page FILE              complains of a page of HTML in which a tag came from outside
terminal COMMAND...    runs it on a terminal and complains of the same, but for CR
"""
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import tarfile

import frames
from frames import block, bth, deth

BIDI = "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def facts(evil, kind, when, **more):
    # What is no UTF-8 cannot stand in JSON
    text = "mlx" + evil.decode(errors="replace")
    o = {"kind": kind, "when": when, "time_ns": 1, "interface": 0, "device": text, "port": 1, **more}
    return block(frames.FACT, frames.fact(json.dumps(o)))


def mad(klass, method, attribute, data):
    packet = bth(0x64, 1, 1) + deth(0x80010000, 1) + frames.mad(attribute, 1, data, klass, method)
    return frames.rocev2((b"\x0a\0\0\1", b"\x0a\0\0\2"), packet, 49152, 7, 0, bytes(4))


def some_frames(evil):
    packed = pathlib.Path(os.environ["TEST_DATA"], "roce/10_rc_write_loss/b.pcap.zst")
    data = subprocess.run(["zstd", "-qdc", packed], check=True, stdout=subprocess.PIPE).stdout
    at, some = 24, []
    while at < len(data) and len(some) < 200:
        size = struct.unpack_from("<I", data, at + 8)[0]
        some.append(data[at + 16:at + 16 + size])
        at += 16 + size
    long = (evil * 8)[:232]
    for klass, attribute in [(7, a) for a in range(0x10, 0x1B)] + [(1, 0x10), (1, 0x11), (3, 0x11), (4, 1)]:
        for method in (3, 0x81):
            some.append(mad(klass, method, attribute, long))
    return some


def section(evil, name, packets):
    out = block(frames.SHB, frames.section(), [(1, evil), (2, evil), (3, evil), (4, evil)])
    options = [(2, name), (3, evil), (9, b"\x09"), (11, b"\0" + evil), (12, evil), (15, evil), (1, evil)]
    out += block(frames.IDB, struct.pack("<HHI", 1, 0, 0), options)
    out += block(frames.NRB, struct.pack("<HH", 1, 4 + len(evil) + 1) + b"\x0a\0\0\1" + evil + b"\0" + bytes(-(len(evil) + 1) % 4) + bytes(4))
    gids = [{"index": 0, "gid": "::ffff:10.0.0.1", "type": evil.decode(errors="replace")}]
    names = {"hw_counters/" + evil.decode(errors="replace"): 1, "counters/port_rcv_packets": 1, "hw_counters/rcvd_pkts": 7}
    out += facts(evil, "device", "start", gids=gids, firmware=evil.decode(errors="replace"))
    out += facts(evil, "counters", "start", counters=names)
    out += facts(evil, "qps", "start", qps=[{"lqpn": 17, "rqpn": 18, "comm": evil.decode(errors="replace")}])
    for i, packet in enumerate(packets):
        ns = 1700000000000000000 + i * 1000
        head = struct.pack("<IIIII", 0, ns >> 32, ns & 0xFFFFFFFF, len(packet), len(packet))
        options = [(1, evil), (4, struct.pack("<Q", 3))] if i % 50 == 0 else []
        out += block(frames.EPB, head + packet, options)
    out += facts(evil, "counters", "end", counters={k: v + 3 for k, v in names.items()})
    out += facts(evil, "event", "start", text=evil.decode(errors="replace"))
    return out + block(frames.ISB, struct.pack("<III", 0, 0, 0), [(1, evil), (4, struct.pack("<Q", 7)), (5, struct.pack("<Q", 3))])


def make_capture(path, evil):
    packets = some_frames(evil)
    pathlib.Path(path).write_bytes(section(evil, evil, packets) + section(evil, b"other" + evil, packets))


def make_tree(archives, directory, evil):
    root = pathlib.Path(directory)
    with tarfile.open(pathlib.Path(archives, "mlx5-eth.tar.gz")) as tar:
        tar.extractall(root)
    for path in sorted(root.rglob("*"), key=lambda p: -len(p.parts)):
        if not path.exists():
            continue
        # Whatever is no number
        if path.is_file() and not path.is_symlink():
            try:
                int(path.read_text(), 0)
            except ValueError:
                path.write_bytes(path.read_bytes().rstrip(b"\n") + evil)
        spoilt = path.with_name(path.name + os.fsdecode(evil.replace(b"/", b"_")))
        if path.parent.name in ("hw_counters", "counters"):
            spoilt.write_text("7\n")
        elif path.is_symlink() and path.parent.parent.name == "class":
            spoilt.symlink_to(os.readlink(path))


def make_counters(path, evil):
    text = "mlx" + evil.decode(errors="replace")
    counter = {"name": "hw_counters/" + text, "value": os.path.getsize(__file__) if "after" in path else 1}
    port = {"device": text, "port": 1, "driver": text, "netdev": text, "link_layer": "Ethernet", "time_ns": 1,
            "lifespan_ms": 0, "unreadable": 0, "duration_s": None, "counters": [counter], "findings": []}
    pathlib.Path(path).write_text(json.dumps({"version": 1, "ports": [port]}))


def complaints(data, keep):
    try:
        text = data.decode()
    except UnicodeDecodeError as e:
        return [f"no UTF-8 at {e.start}: {data[max(e.start - 60, 0):e.start + 20]!r}"]
    bad = [m for m in re.finditer(f"[\0-\x1f\x7f-\x9f{BIDI}]", text) if m[0] not in keep]
    return [f"{m[0]!r} at {m.start()}: {text[max(m.start() - 60, 0):m.start() + 20]!r}" for m in bad[:5]]


def judge(*files):
    found = [f"{f}: {c}" for f in files for c in complaints(pathlib.Path(f).read_bytes(), "\n\t")]
    print("\n".join(found))
    return bool(found)


def page(path):
    text = pathlib.Path(path).read_text()
    ends = text.count("</script>")
    print(ends, "ends of scripts,", text.count("<script"), "beginnings,", text.count("<!--"), "comments")
    return ends != text.count("<script") or "<!--" in text


def terminal(*command):
    out = b""
    pid, fd = pty.fork()
    if not pid:
        os.environ["TERM"] = "xterm"
        os.environ["NO_COLOR"] = "1"  # the program's own escapes are colours only
        os.execv(command[0], command)
    while True:
        try:
            data = os.read(fd, 65536)
        except OSError:  # EIO: the program has ended
            break
        if not data:
            break
        out += data
    os.waitpid(pid, 0)
    # The level of a message is in colour
    out = re.sub(rb"\x1b\[3[13]mrdmadump: (warning: )?\x1b\[0m", b"rdmadump: ", out)
    found = complaints(out, "\n\t\r")
    print("\n".join(found) or "clean", len(out))
    return bool(found) or not out


def main():
    what, *rest = sys.argv[1:]
    if what in ("capture", "tree", "counters"):
        rest[-1] = os.fsencode(rest[-1])
    return {"capture": make_capture, "tree": make_tree, "counters": make_counters, "judge": judge, "page": page,
            "terminal": terminal}[what](*rest)


sys.exit(main())
