"""rrdtool's Python interface over rondo, without librrd.

Programs that `import rrdtool` run with it as they are: put the folder of this file into PYTHONPATH.
docs/clients.md says what it does and what differs from librrd's module. It needs Python 3.6 or newer, and nothing else.

Environment: RONDO is the program (rondo in the PATH), RONDO_DB the database's folder (else what
the configuration file says), RONDO_DAEMON
a server elsewhere, RRDCACHED_ADDRESS as in rrdtool. With RONDO_FILES=0 no files are made where a program looks for them.

Any thread may call any function; calls are made one after another. A forked process has a session of its own.
"""

# Copyright The rondo authors. Licensed under the Apache License, Version 2.0: see LICENSE.

import atexit
import datetime
import os
import re
import select
import socket
import subprocess
import sys
import threading

__version__ = "0.1.10"  # of the interface


class OperationalError(Exception):
    """What rondo says that is wrong."""


class ProgrammingError(Exception):
    """A call that cannot be meant."""


error = OperationalError  # as it was called before

# Verbs that may be asked again when there is no answer.
_READS = frozenset("fetch xport info first last lastupdate list graph graphv".split())

_LONGEST = (1 << 20) - 1  # bytes of a command
_NOTE = (  # query/rrd/transfer.Note
    b"The series of this name is kept by rondo. This file is here for programs that look whether there is one.\n"
    b"rondo info NAME prints the series, rondo rename and rondo drop move and delete it,\n"
    b"rondo export writes it as a file of rrdtool.\n"
)
_ENVIRONMENT = ("RONDO", "RONDO_DB", "RONDO_BASE", "RONDO_SYNC", "RONDO_DAEMON", "RRDCACHED_ADDRESS", "TZ", "LC_ALL", "LC_TIME", "LC_NUMERIC", "LANG", "PATH")


def lib_version():
    """Return the version of rrdtool that rondo is as."""
    return "1.7.2"


def create(*args):
    """Create a series.

    Programs create what they do not see: a series of the same definition that is there without a file of its name is kept.
    """
    args = _arguments(args)
    name = _name(args)
    keep = ["keep"] if _files() and not os.path.lexists(name) else []
    _session.ask(*keep, "create", *args)
    _show(name)


def update(*args):
    """Store samples in a series."""
    _session.ask("update", *_arguments(args))


def updatev(*args):
    """Store samples in a series and return the rows they closed."""
    return _pairs(_session.ask("updatev", *_arguments(args))[0])


def fetch(*args):
    """Return (start, end, step), the names of the data sources, and the rows, in which unknown is None."""
    head, lines = _lines(_session.ask("fetch", *_arguments(args))[0])
    words = head.split(" ")
    start, step = int(words[0]), int(words[1])
    return (start, start + step * len(lines), step), tuple(words[2:]), [_row(line) for line in lines]


def xport(*args):
    """Return columns of several series side by side: what they are ("meta"), and the rows ("data")."""
    text = _session.ask("xport", *_arguments(args))[0]
    head, _, text = text.partition(b"\n")
    start, end, step, columns = map(int, head.split(b" "))
    legends = []
    for _ in range(columns):
        length, _, text = text.partition(b"\n")
        legends.append(_text(text[: int(length)]))
        text = text[int(length) + 1 :]
    rows = [_row(line) for line in _text(text).split("\n")[:-1]]
    meta = {"start": start, "end": end, "step": step, "rows": len(rows), "columns": columns, "legend": legends}
    return {"meta": meta, "data": rows}


def first(*args):
    """Return the second of the first row of an archive."""
    return int(_session.ask("first", *_arguments(args))[0])


def last(*args):
    """Return the second of the last update."""
    return int(_session.ask("last", *_arguments(args))[0])


def lastupdate(*args):
    """Return the time of the last update ("date") and its readings ("ds")."""
    if not args:
        raise ProgrammingError("Missing filename argument")
    time, lines = _lines(_session.ask("lastupdate", *_arguments(args))[0])
    pairs = [line.partition(" ") for line in lines]
    return {"date": datetime.datetime.fromtimestamp(int(time)), "ds": {name: _reading(text) for name, _, text in pairs}}


def info(*args):
    """Return the definition and the state of a series."""
    return _pairs(_session.ask("info", *_arguments(args))[0])


def tune(*args):
    """Change the definition of a series."""
    _session.ask("tune", *_arguments(args))


def resize(*args):
    """Copy a series with more or fewer rows."""
    _session.ask("resize", *_arguments(args))


def flushcached(*args):
    """Have samples that are held applied."""
    _session.ask("flushcached", *_arguments(args))


def list(*args):  # noqa: A001 it is called so
    """Return the names of series and folders."""
    out, remark = _session.ask("list", *_arguments(args))
    if remark not in ("", "Success"):
        raise OperationalError(remark)
    return _text(out).split("\n")[:-1]


def dump(*args):
    """Write a series as XML, to a file or to standard output."""
    _session.alone("dump", *_arguments(args))


def restore(*args):
    """Make a series of XML. librrd's module has no such function."""
    args = _arguments(args)
    _session.alone("restore", *args)
    _show(args[-1])


def graph(*args):
    """Draw a picture and return its width, its height and what is printed.

    What is printed is a list, or None if nothing is. A picture that is called - goes to standard output.
    """
    found = graphv(*args)
    if not found:
        raise OperationalError("there is nothing to draw or to print")
    if "image" in found:
        _print(found["image"])
    prints = [found["image_info"]] if "image_info" in found else []
    prints += [v for k, v in found.items() if k.startswith("print[")]
    return found.get("image_width", 0), found.get("image_height", 0), prints or None


def graphv(*args):
    """Draw a picture and return what is to be said of it, and the picture itself ("image") if it is called -."""
    out = _session.ask("graphv", *_arguments(args))[0]
    blob = re.search(rb"^(image|datapoints) = BLOB_SIZE:(\d+)\n", out, re.MULTILINE)
    if not blob:
        return _pairs(out)
    found = _pairs(out[: blob.start()])
    while blob:
        name, out = blob.group(1).decode(), out[blob.end() :]
        size = int(blob.group(2))
        found[name], out = out[:size], out[size:]
        blob = re.match(rb"(datapoints) = BLOB_SIZE:(\d+)\n", out)
    return found


def _print(image):
    """Write bytes to standard output, behind what the program has printed there."""
    sys.stdout.flush()
    while image:
        image = image[os.write(1, image) :]


def register_fetch_cb(*args):
    """Refuse a callback in place of series."""
    raise ProgrammingError("rondo does not fetch from callbacks")


def clear_fetch_cb(*args):
    """Refuse, as there is no callback."""
    raise ProgrammingError("rondo does not fetch from callbacks")


# Arguments and answers.


def _arguments(args):
    """Return arguments, each a string or a list of strings, as strings."""
    words = []
    for i, arg in enumerate(args):
        if isinstance(arg, str):
            words.append(arg)
        elif isinstance(arg, [].__class__):
            for k, word in enumerate(arg):
                if not isinstance(word, str):
                    raise TypeError("Element %d in argument %d must be str" % (k, i))
                words.append(word)
        else:
            raise TypeError("Argument %d must be str or a list of str" % i)
    return words


def _text(b):
    return b.decode("utf-8", "surrogateescape")


def _lines(b):
    lines = _text(b).split("\n")
    return lines[0], lines[1:-1]


def _value(word):
    return None if word == "nan" else float(word)


def _row(line):
    return tuple(map(_value, line.split(" ")))


def _reading(text):
    try:
        return float(text)
    except ValueError:
        return None


def _pairs(b):
    """Return the lines KEY = VALUE as a dict."""
    found = {}
    for line in _text(b).split("\n"):
        key, equals, value = line.partition(" = ")
        if not equals:
            continue
        if value.startswith('"'):
            found[key] = re.sub(r"\\(.)", lambda m: "\n" if m.group(1) == "n" else m.group(1), value[1:-1])
        elif re.fullmatch(r"-?\d+", value) and not _DOUBLE.search(key):
            found[key] = int(value)
        else:
            found[key] = _value(value)
    return found


# What info, updatev and graphv say that is a double, even where it looks like an integer.
_DOUBLE = re.compile(
    r"\.(min|max|value|xff|alpha|beta|gamma|smoothing_window|delta_pos|delta_neg|intercept|slope|seasonal|deviation)$|^\[-?\d+\]RRA|^value_(min|max)$"
)


# Files that stand for series.


def _files():
    return os.environ.get("RONDO_FILES") != "0"


def _name(args):
    """Return the name of the series in the arguments of create."""
    words = iter(args)
    for word in words:
        if word == "--":
            return next(words, "")
        if re.fullmatch("-[bstrd]|--(start|step|template|source|daemon)", word):
            next(words, "")
        elif not re.match("-.", word):
            return word
    return ""


def _show(name):
    """Put a file where a program looks for that of a series, unless there is one, or no folder for it."""
    if not _files() or not name:
        return
    try:
        file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o666)
    except (OSError, ValueError):
        return
    try:
        os.write(file, _NOTE)
    finally:
        os.close(file)


# Talking to rondo.


def _quoted(word):
    word = word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return b'"' + word.encode("utf-8", "surrogateescape") + b'"'


def _here():
    try:
        return os.getcwd()
    except OSError:
        return ""


class _Session:
    """The rondo that is being talked to."""

    def __init__(self):
        self.lock = threading.Lock()
        self.process = self.socket = self.key = None
        self.busy = False  # a command was sent whose answer is not read
        self.buffer = b""
        self.database = None

    def ask(self, *words):
        """Run a command; return what is printed, and what is remarked."""
        line = b" ".join(map(_quoted, words)) + b"\n"
        if len(line) > _LONGEST:
            raise OperationalError("the command is longer than %d bytes" % _LONGEST)
        with self.lock:
            again = words[0] in _READS
            for _ in range(5):
                if not self._alive():
                    self._begin()
                self.busy = True  # unless an exception in between leaves it so
                self._send(line)
                tag, out, remark, message = self._answer()
                self.busy = False
                if tag == "done":
                    return out, remark
                if tag == "error":
                    raise OperationalError(message)
                self._drop()
                if tag != "bye":
                    if not again:
                        raise OperationalError(message)
                    again = False
        raise OperationalError("rondo ends again and again before it is asked")

    def alone(self, *words):
        """Run a command that is about files in a process of its own, with this one's files."""
        if len(words) == 1:
            return self.ask(*words)  # what is missing
        with self.lock:
            self.end()  # it may hold the database
            sys.stdout.flush()
            command = self._program() + ["rrdtool"] + [os.fsencode(w) for w in words]
            try:
                done = subprocess.run(command, stderr=subprocess.PIPE, check=False)
            except (OSError, ValueError) as e:
                raise OperationalError("cannot run rondo: %s" % e) from None
        message = _text(done.stderr)
        if done.returncode != 0:
            raise OperationalError(re.sub("^ERROR: ", "", message.strip()) or "exit code %d" % done.returncode)
        return None

    def end(self):
        """End the session, and wait until the database is free."""
        if self.process is not None and self.key[0] == os.getpid() and not self.busy:
            self._send(b"quit\n")
        self._drop()

    def _key(self):
        return (os.getpid(), _here()) + tuple(os.environ.get(name) for name in _ENVIRONMENT)

    def _alive(self):
        if self.process is None:
            return False
        if not self.busy and self.key == self._key():
            poll = select.poll()
            poll.register(self.socket, select.POLLIN)
            if not poll.poll(0):  # what it says unasked is that it ends
                return True
        self._drop()
        return False

    def _program(self):
        named = os.environ.get("RONDO_DB")
        if named:
            self.database = os.path.join(_here(), named)
        return [os.environ.get("RONDO") or "rondo"] + (["--db", self.database] if self.database else [])

    def _begin(self):
        command = self._program() + ["pipe"]
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self.process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
            except (OSError, ValueError) as e:
                ours.close()
                raise OperationalError("cannot run %s: %s" % (command[0], getattr(e, "strerror", None) or e)) from None
        self.socket, self.key, self.busy, self.buffer = ours, self._key(), False, b""

    def _drop(self):
        process, self.process = self.process, None
        if process is None:
            return
        self.socket.close()
        if self.key[0] == os.getpid():
            process.wait()
        else:
            process.returncode = 0  # it is the child of another

    def _send(self, line):
        try:
            self.socket.sendall(line, getattr(socket, "MSG_NOSIGNAL", 0))
        except OSError:
            pass  # what it has said before it ended is read

    def _answer(self):
        """Return the last tag of an answer, what was printed, what was remarked, and a message."""
        text = {"out": [], "err": []}
        while True:
            head = self._line()
            found = re.fullmatch(rb"(out|err|done|error|bye) (\d+)\n", head)
            if not found:
                while self._more():
                    pass
                said = re.sub("^ERROR: ", "", _text(head + self.buffer).strip())
                return "", b"", "", "rondo: " + said if said else "rondo ended before it had answered"
            tag, size = found.group(1).decode(), int(found.group(2))
            while len(self.buffer) < size:
                if not self._more():
                    return "", b"", "", "rondo ended before it had answered"
            part, self.buffer = self.buffer[:size], self.buffer[size:]
            if tag not in text:
                return tag, b"".join(text["out"]), _text(b"".join(text["err"])), _text(part)
            text[tag].append(part)

    def _line(self):
        while b"\n" not in self.buffer:
            if not self._more():
                return b""
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line + b"\n"

    def _more(self):
        try:
            part = self.socket.recv(1 << 18)
        except ConnectionResetError:  # it has not read all; what it has said is read yet
            part = self.socket.recv(1 << 18)
        self.buffer += part
        return bool(part)


_session = _Session()


def _forked():
    _session.lock = threading.Lock()  # another thread may have held it


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
atexit.register(_session.end)
