"""The judgement over a soak run (scripts/soak): what it finds in tables with known faults, and that it lets a healthy
one pass."""

import random

import pytest
import soak_judging as judging


def table(hours, growth=0.0, noise=2.0, descriptors=lambda hour: 40, threads=lambda hour: 12, start=100.0, seed=1):
    """A run of one server: memory that grows so many MiB an hour, under noise."""
    chance = random.Random(seed)
    return [
        {
            "server": "s",
            "time": second,
            "rss_mib": start + growth * second / 3600 + chance.gauss(0, noise),
            "heap_mib": start / 2,
            "descriptors": descriptors(second / 3600),
            "threads": threads(second / 3600),
            "live": second % 20 // 10,
            "database_kib": 400,
            "health_ms": 2,
            "loop_delay_ms": 1,
        }
        for second in range(0, int(hours * 3600), 10)
    ]


def verdicts(rows, kinds=None, unfinished=None, crashed=None):
    return {
        judgement.name.removeprefix("s: "): judgement.good
        for judgement in judging.judge(rows, kinds or {}, unfinished or {}, crashed or {})
    }


def test_a_healthy_run_passes():
    assert all(verdicts(table(2)).values()), verdicts(table(2))


@pytest.mark.parametrize("growth, good", [(0.2, True), (0.8, True), (1.3, False), (5, False)])
def test_growth_is_found(growth, good):
    assert verdicts(table(8, growth=growth))["memory"] == good


def test_a_leak_that_resident_memory_hides_is_found_on_the_heap():
    rows = table(2)
    for row in rows:
        # A call in progress takes 20 MiB: only quiet moments tell.
        row["heap_mib"] += 3 * row["time"] / 3_600 + 20 * row["live"]
    assert verdicts(rows)["memory"] and not verdicts(rows)["heap"]


def test_the_warm_up_does_not_count():
    rows = table(2)
    for row in rows:
        row["rss_mib"] -= max(0, 60 - row["time"] / 10)
    assert verdicts(rows)["memory"]


def test_the_interval_contains_the_true_growth():
    inside = 0
    for seed in range(200):
        rows = table(2, growth=3, noise=4, seed=seed)
        line = judging.trend([row["time"] for row in rows], [row["rss_mib"] for row in rows])
        inside += line.low <= 3 <= line.high
    assert inside >= 180, "about 95 of a hundred intervals hold the true slope"
    short = judging.trend([row["time"] for row in table(0.5)], [row["rss_mib"] for row in table(0.5)])
    assert short.high - short.low > line.high - line.low, "a shorter run is less sure"


def noisy_heap(hours, growth):
    rows, chance = table(hours), random.Random(5)
    for row in rows:
        row["heap_mib"] += growth * row["time"] / 3_600 + chance.gauss(0, 6)
    return rows


def test_two_hours_must_prove_that_the_heap_stays():
    """Where the interval reaches over the limit, two hours of it are a failure; a shorter run cannot do better."""

    def heap(rows):
        return next(one for one in judging.judge(rows, {}, {}, {}) if one.name == "s: heap")

    assert not heap(noisy_heap(2, 0.7)).good and "not proven" in heap(noisy_heap(2, 0.7)).text
    assert heap(noisy_heap(1.5, 0.7)).good and "not proven" in heap(noisy_heap(1.5, 0.7)).text
    rows = table(2)
    for row in rows:
        row["live"] = 1
    assert not heap(rows).good, "without a quiet moment nothing is proven"


def test_uncertain_growth_is_reported_but_passes():
    rows = table(0.4, growth=2, noise=6)
    judgement = next(one for one in judging.judge(rows, {}, {}, {}) if one.name == "s: memory")
    assert judgement.good and "not proven" in judgement.text


def test_leaked_descriptors_and_threads_are_found():
    assert not verdicts(table(2, descriptors=lambda hour: 40 + int(10 * hour)))["descriptors"]
    assert not verdicts(table(2, threads=lambda hour: 12 + int(5 * hour)))["threads"]
    busy = random.Random(2)
    assert verdicts(table(2, descriptors=lambda hour: 40 + busy.randrange(30)))["descriptors"], "calls come and go"


def test_unfinished_calls_errors_and_crashes_are_found():
    assert not verdicts(table(1), unfinished={"s": 2})["calls"]
    assert not verdicts(table(1), kinds={"s": {"request failed: #": 1}})["errors"]
    assert verdicts(table(1), kinds={"s": {"the media stream failed: gone": 3}})["errors"]
    assert not verdicts(table(1), crashed={"s": "died by signal 4"})["process"]


def test_errors_are_counted_by_their_kind():
    lines = [
        "2026-11-21T09:30:00Z error cannot store: 12 rows call=ob-17a",
        "2026-11-21T09:30:00Z error cannot store: 7 rows call=ob-18b",
        "2026-11-21T09:30:00Z warning no error",
        "2026-11-21T09:30:00Z info error",
    ]
    assert judging.error_kinds(lines) == {"cannot store: # rows": 2}


def test_the_plot_has_a_line_for_each_server():
    rows = table(0.5) + [{**row, "server": "t"} for row in table(0.5)]
    drawing = judging.plot(rows, "x")
    assert drawing.count("<polyline") == 2 * 8
    assert all(panel in drawing for panel in ("Threads", "Database", "Latest 4 ms tick"))
