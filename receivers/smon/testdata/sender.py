#!/usr/bin/env python3
"""Sends a random smon token stream, and says what it meant.

Written from the description of the protocol, with a choice at random wherever it leaves one: how a number is
coded, where an index code stands, whether a declaration's length counts the type.

usage: sender.py SEED clean|damaged HOST:PORT STREAM EXPECTED

The stream goes to HOST:PORT in pieces, and as a whole into the file STREAM. EXPECTED gets JSON: a list of
parts, each with its values in order, and whether what came after it was damage. Each part begins anew after a reset.
"""

import json
import random
import socket
import sys

NAME = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
TOP = 2**64


def big_endian(n, length):
    return n.to_bytes(length, "big")


def value_or_length(v):
    """The number that follows the definition of a token: its value, or the length of its text."""
    return int(v["value"]) if v["type"] == "u" else len(v["value"]) // 2


class Part:
    """What the receiver knows since a reset, and the bytes that made it so."""

    def __init__(self, rnd, tag):
        self.rnd = rnd
        self.tag = tag
        self.out = bytearray()
        self.tokens = {}  # number: [type, name, own indexes, base]
        self.previous = 0
        self.highest = 0
        self.index = []
        self.row = 0
        self.values = []
        self.pending = b""

    # Numbers.

    def number(self, base, value, signs="+-="):
        """One of the codings of value."""
        choices = []
        if "+" in signs and value >= base:
            d = value - base
            if d <= 0xDF:
                choices += [bytes([d])] * 4
            if d >= 224:
                choices += self.tails(0xE0, d - 224)
        if "-" in signs and base >= value:
            choices += self.tails(0xE8, base - value)
        if "=" in signs:
            choices += self.tails(0xF0, value)
            choices += [b"\xf8" + big_endian(value, 12), b"\xf9" + big_endian(value, 16)]
        return self.rnd.choice(choices)

    @staticmethod
    def tails(lead, n):
        """n in each number of bytes that it goes into."""
        return [bytes([lead + k - 1]) + big_endian(n, k) for k in range(1, 9) if n < 256**k]

    def some_number(self):
        return self.rnd.randrange(256 ** self.rnd.randint(1, 8))

    # Strings.

    @staticmethod
    def payload(data):
        """The bytes of a string: after each 16 bytes FF comes an FE."""
        out, run = bytearray(), 0
        for c in data:
            out.append(c)
            run = run + 1 if c == 0xFF else 0
            if run == 16:
                out.append(0xFE)
                run = 0
        return bytes(out)

    def some_text(self):
        length = self.rnd.choice([0, 1, 3, self.rnd.randrange(300), self.rnd.randrange(3000)])
        kind = self.rnd.randrange(3)
        if kind == 0:
            return bytes(self.rnd.choice(b"abc \xc3\xa9") for _ in range(length))
        if kind == 1:
            return bytes(self.rnd.choice([0xFF] * 30 + [0xFE, 0]) for _ in range(length))
        return self.rnd.randbytes(length)

    # Index codes.

    def codes(self):
        """A few index codes, or none, and what they do to the current index."""
        out = b""
        while self.rnd.random() < 0.3:
            n = self.rnd.choice([self.rnd.randrange(4), self.rnd.randrange(300), self.some_number()])
            code = self.rnd.choice([0xFA, 0xFB, 0xFC, 0xFD])
            depth = len(self.index)
            if code == 0xFA and depth < 8:
                self.index.append(n)
                self.row = 0
            elif code == 0xFB and depth:
                self.index[-1] = n
                self.row = 0
            elif code == 0xFC and depth >= self.row + 2:
                self.row += 1
                self.index[depth - 1 - self.row] = n
            elif code == 0xFD:
                self.index = []
                self.row = 0
                out += b"\xfd"
                continue
            else:
                continue
            out += bytes([code]) + self.number(0, n, "+=")
        return out

    # Elements.

    def value(self, number):
        """A value of a token, with index codes in front perhaps."""
        out = self.codes()
        token = self.tokens[number]
        kind, name, own, base = token
        if kind == "u":
            value = self.rnd.choice(
                [base, base + self.rnd.randrange(500), base - self.rnd.randrange(500), self.some_number()]
            )
            value %= TOP
            out += self.number(base, value)
        else:
            more = self.some_text()
            if self.rnd.random() < 0.5 and len(base) + len(more) <= 65536:
                out += self.number(0, len(more), "+") + self.payload(more)
                value = base + more
            else:
                out += self.number(0, len(more), "=") + self.payload(more)
                value = more
        token[3] = value
        index = own + self.index[len(own) :]
        shown = str(value) if kind == "u" else value.hex()
        self.values.append({"type": kind, "name": name, "index": [str(n) for n in index], "value": shown})
        self.previous = number
        self.row = 0
        return out

    def declaration(self, kind, name):
        """A declaration. A length one short is read right only under certain conditions."""
        data = (kind + name).encode()
        length = len(data)
        follows = ord(name[-1])
        if self.rnd.random() < 0.3 and follows != self.highest + 1 and self.fresh == self.highest + 1:
            length -= 1
        return self.number(0, length, "+=") + self.payload(data)

    def define(self):
        """A new token."""
        self.fresh = self.highest + 1
        if self.rnd.random() < 0.1:
            self.fresh += self.rnd.randrange(40)
        out = self.codes() + self.number(self.previous, 0)
        kind = self.rnd.choice("uus")
        name = self.tag + "".join(self.rnd.choice(NAME) for _ in range(self.rnd.choice([1, 4, 9, 200])))
        own, source = [], 0
        if self.rnd.random() < 0.4:
            out += b"\xfd"
            self.index, self.row = [], 0
            out += self.codes()
            own = list(self.index)
            if self.tokens and self.rnd.random() < 0.7:
                source = self.rnd.choice(list(self.tokens))
                kind, name, others, _ = self.tokens[source]
                own = others + own[len(others) :]
            out += self.number(0, source, "+=")
        if source == 0:
            out += self.declaration(kind, name)
        code, before = self.number(source, self.fresh), self.highest
        self.tokens[self.fresh] = [kind, name, own, 0 if kind == "u" else b""]
        self.highest = self.fresh
        rest = self.value(self.fresh)
        # If a byte that may be in a name comes before the number of the next token, a receiver takes
        # the declaration for one with a length that is one short.
        first = value_or_length(self.values[-1])
        if source == 0 and self.fresh != before + 1 == first and len(code) == 1 and chr(code[0]) in NAME + "/":
            code = self.tails(0xF0, self.fresh)[-1]
        return out + code + rest

    def element(self):
        if not self.tokens or self.rnd.random() < 0.15 and self.highest < 60000:
            self.out += self.define()
            return
        number = self.rnd.choice(list(self.tokens))
        out = self.codes() + self.number(self.previous, number)
        self.out += out + self.value(number)


def damage(rnd, part):
    """Bytes that make no sense, or the wrong one."""
    kind = rnd.randrange(4)
    if kind == 0:
        return rnd.randbytes(rnd.randrange(1, 200))
    piece = bytearray(part[rnd.randrange(len(part)) :][: rnd.randrange(1, 300)])
    if kind == 1:
        return bytes(piece)
    if kind == 2:
        for _ in range(rnd.randrange(1, 6)):
            piece[rnd.randrange(len(piece))] ^= 1 << rnd.randrange(8)
        return bytes(piece)
    return bytes([rnd.randrange(0xE0, 0x100)])  # a number that is not there


def main():
    seed, mode, address, stream_file, expected_file = sys.argv[1:]
    rnd = random.Random(int(seed))
    stream, parts = bytearray(), []
    for i in range(rnd.randint(1, 6)):
        if i > 0:
            # 17 bytes FF make a reset. Where the receiver was about to read a string's length it
            # takes up to two of them for that, and counts anew: so there are two more.
            stream += b"\xff" * rnd.randint(19, 40) + b"\xfe"
        part = Part(rnd, "%08x" % rnd.getrandbits(32))
        for _ in range(rnd.randint(1, 400)):
            part.element()
        stream += part.out
        damaged = mode == "damaged" and rnd.random() < 0.7
        if damaged:
            stream += damage(rnd, part.out)
        parts.append({"tag": part.tag, "values": part.values, "damaged": damaged})
    with open(stream_file, "wb") as f:
        f.write(stream)
    with open(expected_file, "w") as f:
        json.dump(parts, f)
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=30) as s:
        at = 0
        while at < len(stream):
            n = rnd.choice([1, 2, 7, 100, 1500, 9000])
            s.sendall(stream[at : at + n])
            at += n


main()
