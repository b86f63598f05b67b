"""Makes files of Whisper, and prints what Whisper reads of them.

makewhisper.py FOLDER SEED NUMBER makes FOLDER/0.wsp and further ones. For each it prints 64-bit
big-endian numbers: the number of archives, then of each archive the time of the first point, the
seconds of a point, the number of points, and their values as doubles, NaN for none. A
sum is divided by the finest points that it may be of.
"""
import os
import random
import struct
import sys

import whisper

METHODS = ["average", "sum", "last", "max", "min", "avg_zero", "absmax", "absmin"]


def retentions(r):
    step, archives = r.choice([1, 5, 10, 60]), []
    for _ in range(r.randint(1, 4)):
        times = r.randint(2, 8)
        points = max(r.randint(1, 240), times)
        if archives:  # longer than the finer one
            points = max(points, archives[-1][0] * archives[-1][1] // step + r.randint(1, 20))
        archives.append((step, points))
        step *= times
    return archives


def fill(r, path, archives):
    """Fills a file in batches, which leave gaps, and returns the time of its end."""
    step, kept = archives[0][0], archives[-1][0] * archives[-1][1]
    now = r.randint(1_000_000_000, 2_000_000_000)
    for _ in range(r.randint(0, 5)):
        now += r.choice([step, kept // 5, kept, 2 * kept])
        begin = now - r.choice([archives[0][0] * archives[0][1], kept // 3, kept])
        end = now - r.choice([0, 0, 0, kept // 4])
        known, at = r.choice([0.2, 0.7, 1]), max(begin, end - 400 * step)
        points = [(t, r.uniform(-1000, 1000)) for t in range(at, end + 1, step) if r.random() < known]
        if r.random() < 0.3:
            points = [(begin + r.randint(0, max(end - begin, 0)), r.uniform(-9, 9)) for _ in range(30)]
        whisper.update_many(path, points, now)
        if r.random() < 0.5:
            now += r.randint(0, 2 * step)
            whisper.update(path, r.choice([0.0, 1e300, -1.5]), now, now)
    return now


def main(folder, seed, number):
    r = random.Random(seed)
    for i in range(number):
        path, archives = os.path.join(folder, "%d.wsp" % i), retentions(r)
        method = r.choice(METHODS)
        whisper.create(path, archives, r.choice([0, 0.1, 0.5, 1]), method)
        now = fill(r, path, archives)
        out = [struct.pack(">q", len(archives))]
        for step, points in archives:
            (start, _, _), values = whisper.fetch(path, now - step * points, now, now, step)
            out.append(struct.pack(">3q", start, step, len(values)))
            parts = step // archives[0][0] if method == "sum" else 1
            out += [struct.pack(">d", float("nan") if v is None else v / parts) for v in values]
        sys.stdout.buffer.write(b"".join(out))


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
