"""Calls of tools on a call's page: at their turn, with arguments, result, status and time."""

import json
import re

from conftest import ATTEND
from dashboard_pages import logged_in, problems
from playwright.sync_api import expect

CALLS = [
    {"name": "free_times", "arguments": '{"day":"2026-11-26"}', "result": '{"times":["10:00"]}', "status": "ok"},
    {"name": "book", "arguments": "{}", "result": '{"error":"timeout","message":"<b>late</b>"}', "status": "timeout"},
    {"name": "calendar.free", "arguments": "", "result": "", "status": "cancelled"},
]


def test_tools_stand_in_the_conversation(server, callee, browser):
    """The server's own result of a call, with calls of tools put into it: before the second entry and at the end."""
    call_id = server.create(callee("cooperative").address, [ATTEND])
    server.wait_for(call_id)
    entries = len(server.result(call_id)["transcript"])
    turns = [1, entries, entries]

    def with_tools(route):
        answer = route.fetch()
        result = answer.json()
        result["tool_calls"] = [
            {**call, "revision": 1, "turn": turn, "ms": 320, "attempts": number + 1}
            for number, (call, turn) in enumerate(zip(CALLS, turns, strict=True))
        ]
        route.fulfill(response=answer, body=json.dumps(result))

    page = logged_in(browser, server)
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.route(re.compile(r"/result$"), with_tools)
    page.goto(f"{server.url}/outbound/{call_id}")
    rows = page.locator(".transcript > li")
    expect(rows).to_have_count(entries + 3)
    # They are none of the turns.
    expect(page.locator('[data-cell="turns"]')).to_have_text(f"{entries} turns")
    first, late, cancelled = rows.nth(1), rows.nth(entries + 1), rows.nth(entries + 2)
    expect(first.locator("summary")).to_contain_text("free_times")
    expect(first.locator("summary")).to_contain_text("320 ms")
    expect(first.locator(".chip")).to_have_text("ok")
    first.locator("summary").click()
    expect(first.locator('[data-cell="arguments"]')).to_have_text('{\n  "day": "2026-11-26"\n}')
    expect(first.locator('[data-cell="result"]')).to_contain_text("10:00")
    expect(late.locator("summary")).to_contain_text("2 attempts")
    expect(late.locator(".chip")).to_have_text("timeout")
    late.locator("summary").click()
    expect(late.locator('[data-cell="result"]')).to_contain_text("<b>late</b>")
    cancelled.locator("summary").click()
    expect(cancelled.get_by_text("Nothing of it is kept.")).to_be_visible()
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        assert problems(page) == []
    for width in (390, 768, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert overflow <= 0, f"scrolls sideways by {overflow} px at {width}"
    assert errors == []
