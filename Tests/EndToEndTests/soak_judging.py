"""What a soak run's table says: whether memory, descriptors and threads stay where they are, and whether every call
ended.

There are no sockets and no clock in here: `test_soak.py` checks each judgement with tables made up for it."""

import dataclasses
import re

import numpy

# Seconds at a run's begin that say nothing: caches and pools fill, each kind of call is held for the first time.
WARM_UP = 600
# MiB an hour that memory may grow.
GROWTH_LIMIT = 1.0
# Seconds from which on a run must prove that the heap stays below the limit; a shorter one cannot.
PROOF_SECONDS = 2 * 3_600
# Seconds that the last sample may lie before a run's end.
SAMPLE_SLACK = 60
# How many more descriptors and threads may be there at the end than at the begin, in quiet moments.
DESCRIPTOR_SLACK, THREAD_SLACK = 8, 4
# Of that many seconds the samples count as one: neighbouring samples say the same, and a fit that takes each for a new
# one is too sure of itself.
BLOCK = 60
# Two-sided 95 % points of Student's t, by degrees of freedom.
STUDENT = {
    1: 12.7,
    2: 4.30,
    3: 3.18,
    4: 2.78,
    5: 2.57,
    6: 2.45,
    7: 2.36,
    8: 2.31,
    9: 2.26,
    10: 2.23,
    15: 2.13,
    20: 2.09,
    30: 2.04,
    60: 2.00,
}

# Lines of the levels error and critical that a soak brings about by its own faults, each with its cause. Any other is a
# finding.
KNOWN_ERRORS = {
    r"^the media stream failed": "streams are killed in the middle",
    r"^a call by turns cannot be held": "a stream that does not come, where the server holds calls by realtime alone",
}


@dataclasses.dataclass
class Trend:
    """A straight line through memory over time, MiB an hour, with its 95 % confidence interval."""

    slope: float
    low: float
    high: float
    hours: float

    def __str__(self):
        return (
            f"{self.slope:+.2f} MiB/h (95 %: {self.low:+.2f} to {self.high:+.2f}) "
            f"over {self.hours:.2f} h after the warm-up"
        )


@dataclasses.dataclass
class Judgement:
    name: str
    good: bool
    text: str


def warm_up(seconds):
    """Ten minutes; of a run too short for that, its first third."""
    return min(WARM_UP, seconds / 3)


def trend(times, mebibytes):
    """Least squares over the medians of blocks. None: too few blocks for a line with a confidence."""
    times, values = numpy.asarray(times, float), numpy.asarray(mebibytes, float)
    blocks = (times // BLOCK).astype(int)
    x = numpy.array([times[blocks == block].mean() for block in numpy.unique(blocks)]) / 3600
    y = numpy.array([numpy.median(values[blocks == block]) for block in numpy.unique(blocks)])
    if len(x) < 4:
        return None
    slope, start = numpy.polyfit(x, y, 1)
    rest = y - (slope * x + start)
    free = len(x) - 2
    # Neighbouring blocks still resemble each other: the fewer independent ones there are, the wider the interval
    # (AR(1)).
    spread = float((rest**2).sum())
    like = max(0.0, min(0.9, float((rest[1:] * rest[:-1]).sum()) / spread)) if spread > 0 else 0.0
    effective = max(2.0, len(x) * (1 - like) / (1 + like))
    error = (
        (spread / max(1.0, effective - 2) / ((x - x.mean()) ** 2).sum() * len(x) / effective) ** 0.5
        if spread > 0
        else 0.0
    )
    t = next(
        (
            value
            for degrees, value in sorted(STUDENT.items(), reverse=True)
            if degrees <= max(1, min(free, effective - 2))
        ),
        12.7,
    )
    return Trend(float(slope), float(slope - t * error), float(slope + t * error), float(x[-1] - x[0]))


def judge_memory(name, line, what="memory", must_prove=False):
    """Fails if even the lower end of the interval lies over the limit for growth.

    `must_prove`: fails also if the upper end lies over it, that is, if the run does not prove that memory stays.
    """
    if line is None:
        return Judgement(f"{name}: {what}", not must_prove, "too few samples for a line")
    if line.low > GROWTH_LIMIT:
        return Judgement(f"{name}: {what}", False, f"grows: {line}")
    if line.high > GROWTH_LIMIT:
        return Judgement(f"{name}: {what}", not must_prove, f"not proven to stay below {GROWTH_LIMIT} MiB/h: {line}")
    return Judgement(f"{name}: {what}", True, f"stays: {line}")


def judge_flat(name, what, values, slack):
    """Quiet moments (the lower tenth) of the last third against those of the first: calls come and go in between."""
    values = numpy.asarray(values, float)
    third = max(1, len(values) // 3)
    first, last = numpy.percentile(values[:third], 10), numpy.percentile(values[-third:], 10)
    return Judgement(
        f"{name}: {what}",
        bool(last <= first + slack),
        f"{first:.0f} at first, {last:.0f} at last, at most {values.max():.0f}",
    )


def error_kinds(lines):
    """Messages of log lines at `error` and above → how often.

    Numbers and ids are removed, so that one kind is one message.
    """
    kinds = {}
    for line in lines:
        found = re.match(r"\S+ (error|critical) (.*)", line)
        if found:
            kind = re.sub(r"\b(ob|in|call)-\w+|\b[0-9a-f]{8,}\b|\d+", "#", found[2].split(" call=")[0])[:160]
            kinds[kind] = kinds.get(kind, 0) + 1
    return kinds


def judge_errors(name, kinds):
    unknown = {
        kind: count for kind, count in kinds.items() if not any(re.search(pattern, kind) for pattern in KNOWN_ERRORS)
    }
    known = sum(kinds.values()) - sum(unknown.values())
    return Judgement(
        f"{name}: errors", not unknown, f"{known} of known kinds" + (f", unknown: {unknown}" if unknown else "")
    )


def judge(rows, kinds, unfinished, crashed):
    """`rows`: dicts with server, time, rss_mib, descriptors, threads; `kinds`: server → error_kinds; `unfinished`:
    server → calls that have no terminal state; `crashed`: server → how it ended, if it did so by itself."""
    judgements = []
    for name in sorted({row["server"] for row in rows}):
        own = [row for row in rows if row["server"] == name]
        begin = warm_up(own[-1]["time"])
        warm = [row for row in own if row["time"] >= begin]
        judgements.append(judge_memory(name, trend([row["time"] for row in warm], [row["rss_mib"] for row in warm])))
        # Resident memory counts what malloc keeps free, which can hide growth; the heap tells what is in use, best
        # while no call is in progress.
        quiet = [row for row in warm if row["live"] == 0]
        judgements.append(
            judge_memory(
                name,
                trend([row["time"] for row in quiet], [row["heap_mib"] for row in quiet]),
                "heap",
                must_prove=own[-1]["time"] >= PROOF_SECONDS - SAMPLE_SLACK,
            )
        )
        judgements.append(judge_flat(name, "descriptors", [row["descriptors"] for row in warm], DESCRIPTOR_SLACK))
        judgements.append(judge_flat(name, "threads", [row["threads"] for row in warm], THREAD_SLACK))
        left = unfinished.get(name, 0)
        judgements.append(
            Judgement(f"{name}: calls", left == 0, f"{left} without an end" if left else "every call has its end")
        )
        judgements.append(judge_errors(name, kinds.get(name, {})))
        judgements.append(Judgement(f"{name}: process", name not in crashed, crashed.get(name, "lives")))
    return judgements


# The plot

COLOURS = {0: "#2563eb", 1: "#c2410c", 2: "#15803d", 3: "#7c3aed"}


def plot(rows, title):
    """An SVG of the table: one panel each for memory, descriptors, threads, database, calls and delays, with a line for
    each server."""
    names = sorted({row["server"] for row in rows})
    panels = [
        ("Resident memory, MiB", "rss_mib"),
        ("Heap in use, MiB", "heap_mib"),
        ("Open descriptors", "descriptors"),
        ("Threads", "threads"),
        ("Database, KiB", "database_kib"),
        ("Live calls", "live"),
        ("/health answered after, ms", "health_ms"),
        ("Latest 4 ms tick of an event loop, ms late", "loop_delay_ms"),
    ]
    width, height, left, top, gap = 960, 150, 70, 60, 50
    longest = max(row["time"] for row in rows) or 1
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
        f'height="{top + len(panels) * (height + gap) + 10}" font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{left}" y="20" font-size="15" font-weight="bold">{title}</text>',
    ]
    for number, name in enumerate(names):
        parts.append(f'<text x="{left + 150 * number}" y="40" fill="{COLOURS[number % 4]}">— {name}</text>')
    for number, (label, field) in enumerate(panels):
        y0 = top + number * (height + gap)
        highest = max(float(row[field]) for row in rows) * 1.05 or 1
        parts.append(f'<text x="{left}" y="{y0 - 5}">{label}</text>')
        for step in range(5):
            y = y0 + height - height * step / 4
            parts.append(f'<path d="M{left} {y:.1f}H{width - 10}" stroke="#e5e7eb"/>')
            parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{highest * step / 4:.3g}</text>')
        for index, name in enumerate(names):
            own = [row for row in rows if row["server"] == name]
            own = own[:: max(1, len(own) // 800)]
            points = " ".join(
                f'{left + (width - 10 - left) * row["time"] / longest:.1f},'
                f'{y0 + height - height * float(row[field]) / highest:.1f}'
                for row in own
            )
            parts.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[index % 4]}" stroke-width="1.2"/>')
        for minutes in range(0, int(longest / 60) + 1, max(1, int(longest / 600))):
            x = left + (width - 10 - left) * minutes * 60 / longest
            parts.append(f'<text x="{x:.1f}" y="{y0 + height + 15}" text-anchor="middle">{minutes}</text>')
    parts.append(
        f'<text x="{width - 10}" y="{top + len(panels) * (height + gap) - 18}" text-anchor="end">minutes</text></svg>'
    )
    return "\n".join(parts)
