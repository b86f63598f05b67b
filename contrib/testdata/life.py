# As life.pl, of Python's module.
import os
import signal
import sys
import threading
import time

import rrdtool

program, silent, lasts = sys.argv[1:]
os.environ["RONDO"] = program
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
signal.alarm(300)


def check(is_so, what):
    if not is_so:
        sys.exit(what)


def fails(want, function, *args):
    try:
        getattr(rrdtool, function)(*args)
    except rrdtool.OperationalError as e:
        check(str(e) == want, "%s: %s" % (function, e))
    else:
        sys.exit("%s has not failed" % function)


def create(name, *more):
    rrdtool.create(name, "--start", "1000000000", *more, "DS:v:GAUGE:600:U:U", ["RRA:AVERAGE:0.5:1:10"])


def ended(pid):
    """Wait until a process is gone, or waits for its parent to take note."""
    while True:
        try:
            with open("/proc/%d/stat" % pid, encoding="ascii") as f:
                if f.read().rpartition(")")[2].split()[0] == "Z":
                    return
        except OSError:
            return
        time.sleep(0.01)


def session():
    with open("pid", encoding="ascii") as f:
        return int(f.read())


# A series is kept when its file is lost, and replaced when it is not.
create("x")
check(os.path.getsize("x") > 0, "no file stands for the series")
os.remove("x")
rrdtool.update("x", "1000000300:1")
create("x")
check(rrdtool.last("x") == 1000000300, "the series was replaced")
fails("creating 'x': File exists", "create", "x", "-O", "--start", "1000000000", "DS:v:GAUGE:600:U:U", "RRA:AVERAGE:0.5:1:10")
create("x")
check(rrdtool.last("x") == 1000000000, "the series was not replaced")
rrdtool.update("x", "1000000300:1")
os.remove("x")
create("x", "RRA:MAX:0.5:1:20")
check(rrdtool.last("x") == 1000000000, "a series of another definition was kept")
create("café☺")
check(rrdtool.last(os.fsdecode("café☺".encode())) == 1000000000, "another name")

# Threads take turns, and forked processes have sessions of their own.
times = []
threads = [threading.Thread(target=lambda: times.extend(rrdtool.last("x") for _ in range(20))) for _ in range(4)]
for t in threads:
    t.start()
pids = []
for n in range(3):
    pid = os.fork()
    if pid == 0:
        create("child%d" % n)
        rrdtool.update("child%d" % n, "1000000300:1")
        os._exit(0 if rrdtool.last("x") == 1000000000 else 1)
    pids.append(pid)
for t in threads:
    t.join()
check(times == [1000000000] * 80, "threads got %s" % times)
for pid in pids:
    check(os.waitpid(pid, 0)[1] == 0, "a child has failed")
check(all(rrdtool.last("child%d" % n) == 1000000300 for n in range(3)), "a child wrote nothing")

# The session is killed between two calls, or ends because nobody asks: nobody is told.
os.environ["TZ"] = "UTC"  # a new session
check(rrdtool.last("x") == 1000000000, "before the kill")
os.kill(session(), signal.SIGKILL)
ended(session())
check(rrdtool.last("x") == 1000000000, "after the kill")
if lasts == "short":
    ended(session())
    check(rrdtool.last("x") == 1000000000, "after a silence")


# What an exception interrupts is not taken for the answer of the next.
class Interrupted(Exception):
    pass


def interrupt(*_):
    raise Interrupted


os.environ["RONDO"] = silent
signal.signal(signal.SIGALRM, interrupt)
signal.alarm(1)
try:
    rrdtool.last("x")
    sys.exit("there was an answer")
except Interrupted:
    pass
signal.signal(signal.SIGALRM, signal.SIG_DFL)
signal.alarm(300)
os.environ["RONDO"] = program
check(rrdtool.last("x") == 1000000000, "after the interruption")

# No rondo, and what cannot be.
os.environ["RONDO"] = "/nowhere/rondo"
fails("cannot run /nowhere/rondo: No such file or directory", "last", "x")
os.environ["RONDO"] = "false"
fails("rondo ended before it had answered", "last", "x")
os.environ["RONDO"] = program
fails("Usage: rrdtool list [--daemon <addr> [--noflush]] [--recursive] <directory>", "list")
fails("the command is longer than 1048575 bytes", "update", "x", "1000000600:" + "1" * (1 << 20))
try:
    rrdtool.last(1)
    sys.exit("a number was taken for a name")
except TypeError as e:
    check(str(e) == "Argument 0 must be str or a list of str", str(e))
rrdtool.dump("x", "x.xml")
check(os.path.getsize("x.xml") > 0, "no x.xml")
rrdtool.restore("x.xml", "y")
check(rrdtool.last("y") == 1000000000 and os.path.exists("y"), "after restore")
print("as it should be")
sys.exit(3)
