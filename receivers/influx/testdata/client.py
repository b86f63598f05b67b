"""client.py HOST PORT: sends points with InfluxDB's client library for Python, for a test."""
import sys

from influxdb import InfluxDBClient
from influxdb.exceptions import InfluxDBClientError

client = InfluxDBClient(sys.argv[1], int(sys.argv[2]), database="py", gzip=True)
client.ping()
client.create_database("py")
client.write_points(
    [
        {"measurement": "two words", "tags": {"ro om": "a,t=tic"}, "time": 1700000001, "fields": {"value": 31.5, "ok": True, "note": "x"}},
        {"measurement": "two words", "tags": {"ro om": "a,t=tic"}, "time": 1700000011, "fields": {"value": -2, "ok": False}},
    ],
    time_precision="s",
)
try:
    client.write(["good value=1 1700000001", "bad"], {"db": "py", "precision": "s"}, protocol="line")
    sys.exit("a bad line is no error")
except InfluxDBClientError as e:
    print(e.code, e.content)
