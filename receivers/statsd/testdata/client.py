"""Sends readings with the client library of StatsD, over UDP and TCP, in single lines and pipelines.

    client.py HOST PORT
"""
import sys
from datetime import timedelta
from statsd import StatsClient, TCPStatsClient

host, port = sys.argv[1], int(sys.argv[2])

for prefix, client in ("udp", StatsClient(host, port, prefix="udp")), ("tcp", TCPStatsClient(host, port, prefix="tcp")):
    for i in range(100):
        client.incr("hits")
    client.incr("hits", 50)
    client.decr("hits", 10)
    client.gauge("queue", 17)
    client.gauge("queue", 5, delta=True)
    client.gauge("queue", -2, delta=True)
    client.gauge("cold", -4)
    for i in range(1, 21):
        client.timing("page.load", i * 10)
    client.timing("page.load", timedelta(milliseconds=5))
    for i in range(30):
        client.set("users", "user %d" % (i % 12))
    with client.pipeline() as pipe:
        for i in range(40):
            pipe.incr("piped")
        pipe.timing("piped.time", 1.5)
    client.close()
