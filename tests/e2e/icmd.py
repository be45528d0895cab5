#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Other programs beside a capture with --sniffer icmd.

icmd.py tool CONFIG [hold]      a tool that keeps to the protocol and never rests: it takes the gateway for each word that
                                it reads, and now and then the command interface, with `hold` at once and until the end.
                                SIGTERM ends it while it holds nothing
icmd.py takeover PID HELPER UID a capture that hostile frames took over has the helper's socket, but is another user
icmd.py terminal TEXT COMMAND.. runs it on a terminal of its own, and types Ctrl-C once the text appears. Copies what is
                                printed, and ends when the command does, with its status. Then the terminal is gone
"""
import ctypes
import os
import pty
import random
import select
import signal
import socket
import struct
import sys
import time

SYS_PIDFD_GETFD = 438
COMMANDS = 0xA  # the address space of the command interface's semaphore


class Tool:
    def __init__(self, config):
        self.fd = os.open(config, os.O_RDWR)
        self.ended = False
        signal.signal(signal.SIGTERM, self.end)

    def end(self, *_):
        self.ended = True

    def get(self, at):
        return int.from_bytes(os.pread(self.fd, 4, 0xC0 + at), "little")

    def put(self, at, value):
        os.pwrite(self.fd, value.to_bytes(4, "little"), 0xC0 + at)

    def take(self):
        if self.get(12):
            return False
        ticket = self.get(8)
        self.put(12, ticket)
        return self.get(12) == ticket

    def access(self, space, address, value=None):
        until(self.take, "gateway")
        self.put(4, self.get(4) & ~0xFFFF | space)
        if value is not None:
            self.put(20, value)
        self.put(16, address | (0 if value is None else 1 << 31))
        while self.get(16) >> 31 != (value is None):
            pass
        word = self.get(20)
        takes(random.random() * 0.004)
        self.put(12, 0)
        return word

    def take_commands(self):
        if self.access(COMMANDS, 0):
            return False
        self.access(COMMANDS, 0, os.getpid())
        return self.access(COMMANDS, 0) == os.getpid()


def takes(seconds):
    """What another tool does with the adapter, or beside it, takes a while."""
    time.sleep(seconds)  # pause: nothing depends on how long


def until(done, what):
    limit = time.monotonic() + 60
    while not done():
        if time.monotonic() > limit:
            sys.exit(f"the {what} is not free for a minute")
        takes(0.001)


def tool(config, hold=None):
    t = Tool(config)
    if hold:
        until(t.take_commands, "command interface")
        print("held", flush=True)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        if not t.ended:
            t.ended = signal.sigwait([signal.SIGTERM])
        t.access(COMMANDS, 0, 0)
    rounds = 0
    while not t.ended:
        rounds += 1
        t.access(2, 0xF0014)
        if rounds % 8 == 0:
            until(t.take_commands, "command interface")
            takes(random.random() * 0.03)
            t.access(COMMANDS, 0, 0)
        takes(0.005)
    print(rounds)


def sockets(pid):
    links = {int(fd): os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
    return {int(link[8:-1]): fd for fd, link in links.items() if link.startswith("socket:")}


def takeover(pid, helper, uid):
    (theirs,) = sockets(helper)
    fd = sockets(pid)[theirs - 1]  # made as a pair
    s = socket.socket(fileno=ctypes.CDLL(None).syscall(SYS_PIDFD_GETFD, os.pidfd_open(int(pid)), fd, 0))
    os.setgroups([])
    os.setresuid(int(uid), int(uid), int(uid))
    s.send(struct.pack("=3I", 1, 0xBAD, 3))
    print("refused" if b"by root only" in s.recv(65536) else "done")


def terminal(text, *command):
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
    seen, typed, ended = b"", False, 0
    while True:
        if select.select([fd], [], [], 0.05)[0]:
            try:
                seen += os.read(fd, 65536)
            except OSError:
                break
        elif ended:
            break
        if not typed and text.encode() in seen:
            typed = True
            os.write(fd, b"\x03")
        if not ended:
            ended, status = os.waitpid(pid, os.WNOHANG)
    if not ended:
        status = os.waitpid(pid, 0)[1]
    sys.stdout.write(seen.decode().replace("\r\n", "\n"))
    sys.exit(os.waitstatus_to_exitcode(status))


{"tool": tool, "takeover": takeover, "terminal": terminal}[sys.argv[1]](*sys.argv[2:])
