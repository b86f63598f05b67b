"""Writes pickles as senders of carbon make them, one JSON object a line, for Python 2.7 and 3.

Each has the points that carbon takes from it. With an address it sends them there instead:

    pickles.py                  lines
    pickles.py HOST PORT TAG    frames; names begin with TAG, and what is expected is printed
"""
import json, pickle, socket, struct, sys

try:
    import cPickle
except ImportError:
    cPickle = None

BIG = 2 ** 31


def lists():
    yield "typical", [("servers.web1.load", (1700000000, 0.75)), ("servers.web1.users", (1700000000, 12))]
    yield "empty", []
    yield "numbers", [("n.i%d" % i, (1700000000 + i, v)) for i, v in enumerate(
        [0, 1, -1, 255, 256, 65535, 65536, BIG - 1, BIG, -BIG, -BIG - 1, 2 ** 53, 2 ** 63 - 1, -2 ** 63, 2 ** 70, -2 ** 70, 0.1, -1e-300, 1e300, True, False])]
    yield "times", [("t", (1700000000.75, 1.5)), ("t", (1700000001, 2.5)), ("t", ("1700000002", "3.25"))]
    yield "lists", [["l", [1700000000, 1.0]], ["l", [1700000001, 2.0]]]
    yield "shared", [("same.name", (1700000000 + i // 2, float(i % 2))) for i in range(6)]
    yield "tags", [("disk;host=web1;dc=a", (1700000000, 3))]
    yield "characters", [(u"\u00b5.\u20ac'\\x\"y", (1700000000, 1)), (u"a\tb", (1700000001, 2))]
    yield "many", [("many.n%d" % (i % 40), (1700000000 + i // 40, i * 0.5)) for i in range(60)]
    yield "tuple", (("a", (1700000000, 1)), ("b", (1700000000, 2)))


def text(name):
    return name if isinstance(name, type(u"")) else name.decode("utf-8")


def points(data):
    return [[text(n), int(float(t)), repr(float(v))] for n, (t, v) in data]


def pickles():
    version = "%d.%d" % sys.version_info[:2]
    for module in [pickle] + ([cPickle] if cPickle else []):
        for protocol in range(module.HIGHEST_PROTOCOL + 1):
            for name, data in lists():
                yield "%s, Python %s, %s, protocol %d" % (name, version, module.__name__, protocol), module.dumps(data, protocol), points(data)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        host, port, tag = sys.argv[1:4]
        s = socket.create_connection((host, int(port)))
        for module in [pickle] + ([cPickle] if cPickle else []):
            for protocol in range(module.HIGHEST_PROTOCOL + 1):
                data = [("%s.p%d.n%d" % (tag, protocol, i), (1700000000 + i, i * 0.25)) for i in range(1500)]
                b = module.dumps(data, protocol)
                s.sendall(struct.pack("!L", len(b)) + b)
                for name, at, value in points(data):
                    print(json.dumps([name, at, value]))
        s.close()
    else:
        for name, b, expected in pickles():
            print(json.dumps({"name": name, "pickle": "".join("%02x" % c for c in bytearray(b)), "points": expected}, sort_keys=True))
