#!/usr/bin/env python3
"""Writes plugin files of rrdd, version 1 and 2, from the description of the format alone.

It knows nothing of rondo and is what rondo's reader is tested against.

    plugin.py steps PATH           write what standard input says, one JSON object a line, and answer each with a line
    plugin.py flood PATH VERSION HOW COUNT
                                   rewrite PATH in place COUNT times as fast as it goes, in small pieces, so that a
                                   reader sees halves; HOW is the order: body (values and metadata, then the header, as
                                   rrdd.py does), start (from the first byte on, as rrd-client-lib does) or
                                   mmap (body, through mapped memory)
    plugin.py pace PATH VERSION SECONDS
                                   rewrite it every SECONDS until standard input ends
"""
import hashlib
import json
import mmap
import os
import random
import struct
import sys
import time
import zlib


def version1(timestamp, sources):
    """sources: name -> (value, fields). The JSON text holds the values."""
    datasources = {}
    for name, (value, fields) in sources.items():
        datasources[name] = dict(fields, value=value)
    text = json.dumps({"timestamp": timestamp, "datasources": datasources}, sort_keys=True, indent=2).encode()
    header = b"DATASOURCES\n%08X\n%s\n" % (len(text), hashlib.md5(text).hexdigest().encode())
    return header, text


def version2(timestamp, sources):
    """The order of the data sources in the text is that of the values: here by name."""
    names = sorted(sources)
    data = struct.pack(">d", timestamp)
    for name in names:
        value, fields = sources[name]
        data += struct.pack(">q" if fields["value_type"] == "int64" else ">d", value)
    text = json.dumps({"datasources": {name: sources[name][1] for name in names}}, sort_keys=True).encode()
    header = b"DATASOURCES" + struct.pack(">LLL", zlib.crc32(data), zlib.crc32(text), len(names))
    return header, data + struct.pack(">L", len(text)) + text


def encode(version, timestamp, sources):
    return (version1 if version == 1 else version2)(timestamp, sources)


class Plugin:
    """A plugin's file, which is never cut: what was behind the end stays."""

    def __init__(self, path, how="body", pieces=False):
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        self.how, self.pieces, self.map = how, pieces, None
        if how == "mmap":
            os.ftruncate(self.fd, 1 << 16)
            self.map = mmap.mmap(self.fd, 1 << 16)

    def put(self, at, data):
        """Write data, in pieces if this is a flood."""
        while data:
            n = random.randint(1, 2 * len(data)) if self.pieces else len(data)
            piece, data = data[:n], data[n:]
            if self.map is not None:
                self.map[at : at + len(piece)] = piece
            else:
                os.pwrite(self.fd, piece, at)
            at += len(piece)

    def write(self, version, timestamp, sources):
        header, body = encode(version, timestamp, sources)
        if self.how == "start":
            self.put(0, header + body)
        else:
            self.put(len(header), body)
            self.put(0, header)


def fields(value_type, kind="gauge"):
    return {"value_type": value_type, "type": kind, "owner": "host", "units": "", "description": "", "default": "true", "min": "-inf", "max": "inf"}


def invariant(n):
    """The content of write n: every name says the generation, every value the write."""
    generation = n // 20
    sources = {}
    for i in range(5 + generation % 7):
        sources["g%d i%d" % (generation, i)] = (n * 1000 + i, fields("int64"))
        sources["g%d f%d" % (generation, i)] = (n + i / 1024, fields("float"))
    return 1700000000 + n, sources


def steps(path):
    plugin = Plugin(path)
    for line in sys.stdin:
        step = json.loads(line)
        sources = {}
        for s in step["sources"]:
            value = int(s["int"]) if "int" in s else float(s["float"])
            sources[s["name"]] = (value, s["fields"])
        plugin.write(step["version"], float(step["timestamp"]), sources)
        print("written", flush=True)


def flood(path, version, how, count):
    plugin = Plugin(path, how, pieces=True)
    for n in range(count):
        plugin.write(version, *invariant(n))
        if n % 64 == 0:
            time.sleep(0.0005)  # a reader must see a whole one now and then


def pace(path, version, seconds):
    plugin = Plugin(path)
    started = time.time()
    n = 0
    os.set_blocking(sys.stdin.fileno(), False)
    while sys.stdin.buffer.read(1) != b"":
        plugin.write(version, time.time(), {"written": (n, fields("int64", "derive")), "seconds": (time.time() - started, fields("float"))})
        n += 1
        time.sleep(seconds)


def main():
    mode, path, rest = sys.argv[1], sys.argv[2], sys.argv[3:]
    if mode == "steps":
        steps(path)
    elif mode == "flood":
        flood(path, int(rest[0]), rest[1], int(rest[2]))
    else:
        pace(path, int(rest[0]), float(rest[1]))


main()
