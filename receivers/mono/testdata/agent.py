#!/usr/bin/env python3
"""A counters agent, written from the description of the protocol and from nothing else, for the tests.

usage: agent.py HOST PORT page|agent SEED

It connects, says hello, and then does what its standard input says, a word a line:

    sample   change some values and send a sample of those that have changed
    flood N  the same N times
    half     send all but the end of a sample
    kill     end this process as a crash does
    quit     hang up

Meanwhile it answers the inspector. Whatever it has done it says on standard output, a JSON object a line.
"""

import json
import os
import random
import selectors
import signal
import socket
import struct
import sys

CATEGORIES = ["Mono JIT", "Mono GC", "Mono Metadata", "Mono Generics", "Mono Security",
              "Mono Thread", "Mono ThreadPool", "Mono System", "Mono Custom"]

OK, NOT_OK, NOT_FOUND, EXISTING = 0, 1, 2, 3

# category, name, type, unit, variance, sampled from the beginning
COUNTERS = [
    (1, "Minor GC collections", "int", 3, 2, True),
    (0, "JIT time", "long", 2, 2, True),
    (2, "Loaded bytes", "word", 1, 3, True),
    (6, "Busy ratio", "double", 5, 3, True),
    (7, "Cores", "int", 4, 1, True),
    (11, "of a category without a name", "long", 9, 7, True),
    (8, "MyApp:Queue/depth", "long", 0, 3, False),
    (5, "Thread count", "int", 0, 3, False),
    (0, "Ratio of gains", "double", 0, 2, False),
]

TYPES = {"int": (0, "<i"), "long": (1, "<q"), "word": (2, "<i"), "double": (3, "<d")}


def text(s):
    b = s.encode()
    return struct.pack("<i", len(b)) + b


NULL = struct.pack("<i", -1)


def category_name(n):
    return CATEGORIES[n] if n < len(CATEGORIES) else "category-%d" % n


def say(**what):
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


class Counter:
    def __init__(self, category, name, kind, unit, variance, sampled):
        self.category, self.name, self.kind = category, name, kind
        self.unit, self.variance = unit, variance
        self.index = None if not sampled else -1
        self.value = 0.5 if kind == "double" else 40
        self.sent = None

    def key(self):
        return category_name(self.category) + "/" + self.name

    def header(self):
        number, _ = TYPES[self.kind]
        return (struct.pack("<i", self.category) + text(self.name) +
                struct.pack("<iiih", number, self.unit, self.variance, self.index))

    def bytes(self):
        b = struct.pack(TYPES[self.kind][1], self.value)
        return struct.pack("<hh", self.index, len(b)) + b

    def change(self, rnd):
        if self.variance == 1 or rnd.random() < 0.5:
            return
        if self.kind == "double":
            self.value += rnd.uniform(-1, 1) if self.variance != 2 else rnd.random()
        elif self.variance == 2:
            self.value += rnd.randrange(1 << (20 if self.kind == "int" else 50)) // 16
        else:
            self.value = rnd.randrange(-1 << 31, 1 << 31)

    def exact(self):
        return self.value.hex() if self.kind == "double" else str(self.value)


class Agent:
    def __init__(self, host, port, dialect, seed):
        self.dialect = dialect
        self.rnd = random.Random(seed)
        self.counters = [Counter(*c) for c in COUNTERS]
        self.next = 0
        self.second = 1700000000
        self.got = b""
        self.socket = socket.create_connection((host, port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for c in self.counters:
            if c.index is not None:
                self.number(c)
        sampled = [c for c in self.counters if c.index is not None]
        self.socket.sendall(struct.pack("<bhh", 0, 1, len(sampled)) + b"".join(c.header() for c in sampled))
        say(did="hello", version="Python " + sys.version.split()[0])

    def number(self, c):
        c.index, c.sent = self.next, None
        self.next += 1

    def sample(self):
        """The bytes of a sample, and what the inspector must make of it."""
        self.second += self.rnd.choice([1, 1, 2])
        micro = self.rnd.randrange(1000000)
        # Days from the first of January of the year 1 to that of 1970: 719162.
        ticks = (719162 * 86400 + self.second) * 10000000 + micro * 10 + self.rnd.randrange(10)
        b = struct.pack("<bq", 4, ticks)
        values = {}
        for c in self.counters:
            c.change(self.rnd)
            if c.index is None:
                continue
            now = c.bytes()
            if now != c.sent:
                b += now
                c.sent = now
            values[c.key()] = c.exact()
        return b + struct.pack("<h", -1), self.second * 1000000 + micro, values

    def command(self, words):
        if words[0] in ("sample", "flood"):
            for _ in range(int(words[1]) if len(words) > 1 else 1):
                b, at, values = self.sample()
                self.send(b)
                say(did="sample", at=at, values=values)
        elif words[0] == "half":
            b, _, _ = self.sample()
            self.socket.sendall(b[:-1])
            say(did="half")
        elif words[0] == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif words[0] == "quit":
            self.socket.close()
            say(did="quit")
            sys.exit(0)

    def send(self, b):
        """Sends b in pieces, as a slow network would."""
        while b:
            n = self.rnd.choice([1, 3, 20, 1000])
            self.socket.sendall(b[:n])
            b = b[n:]

    # What the inspector sends.

    def byte(self):
        while not self.got:
            more = self.socket.recv(4096)
            if not more:
                say(did="closed")
                sys.exit(1)
            self.got = more
        b, self.got = self.got[:1], self.got[1:]
        return b

    def read(self, layout):
        b = b"".join(self.byte() for _ in range(struct.calcsize(layout)))
        return struct.unpack(layout, b)[0]

    def string(self):
        n = self.read("<i")
        return None if n < 0 else b"".join(self.byte() for _ in range(n)).decode()

    def request(self):
        first = 1 if self.dialect == "page" else 0
        command = self.byte()[0]
        if command == 0x7F:
            say(did="good bye")
            sys.exit(0)
        elif command == first:
            self.list()
        elif command == first + 1:
            self.add()
        elif command == first + 2:
            self.remove()
        else:
            say(did="hung up", because="request %d" % command)
            sys.exit(1)

    def list(self):
        b = struct.pack("<b", 1)
        for c in self.counters:
            pair = [text(c.name), text(category_name(c.category))]
            b += b"".join(pair if self.dialect == "page" else reversed(pair))
        self.send(b + NULL)
        say(did="list", names=[c.key() for c in self.counters])

    def add(self):
        a, b = self.string(), self.string()
        name, category = (a, b) if self.dialect == "page" else (b, a)
        if name is None or category is None:
            say(did="hung up", because="null string")
            sys.exit(1)
        for c in self.counters:
            if c.name == name and category_name(c.category) == category:
                if c.index is not None:  # the fault that an inspector avoids
                    say(did="hung up", because="sampled already")
                    sys.exit(1)
                self.number(c)
                self.send(struct.pack("<bb", 2, OK) + c.header())
                say(did="add", index=c.index, name=c.key())
                return
        self.send(struct.pack("<bb", 2, NOT_FOUND))
        say(did="add", index=-1, name=category + "/" + name)

    def remove(self):
        index = self.read("<h")
        if index < 0:  # it would crash
            os.kill(os.getpid(), signal.SIGSEGV)
        for c in self.counters:
            if c.index == index:
                c.index = None
                self.send(struct.pack("<bb", 3, OK))
                say(did="remove", index=index, name=c.key())
                return
        self.send(struct.pack("<bb", 3, NOT_FOUND))
        say(did="remove", index=-1)


def main():
    host, port, dialect, seed = sys.argv[1:]
    agent = Agent(host, int(port), dialect, int(seed))
    s = selectors.DefaultSelector()
    s.register(0, selectors.EVENT_READ, "input")
    s.register(agent.socket, selectors.EVENT_READ, "inspector")
    pending = b""
    while True:
        for key, _ in s.select():
            if key.data == "inspector":
                agent.request()
                while agent.got:
                    agent.request()
                continue
            more = os.read(0, 4096)
            if not more:
                return
            *lines, pending = (pending + more).split(b"\n")
            for line in lines:
                agent.command(line.decode().split())


main()
