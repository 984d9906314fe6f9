"""An agent is talked to in the browser, beside its form: Chromium's microphone plays the answers."""

import re

from conftest import ATTEND
from playwright.sync_api import expect
from phones import speech
from test_browser import chromium, log_in, moves, quiet

__all__ = ["chromium"]


def test_an_agent_is_talked_to_beside_its_form(server, chromium, tmp_path):
    agent = {
        "slug": "dinner",
        "name": "Dinner",
        "mode": "embedded",
        "variables": [{"name": "day", "required": True}],
        "purpose": "to prepare the dinner on {{day}}",
        "first_message": "Hello. It is about {{day}}.",
        "questions": [ATTEND],
    }
    assert server.request("POST", "/api/agents", agent)[0] == 201
    page, errors = log_in(
        chromium(quiet(speech(tmp_path / "mic.wav", [10, "Yes, I will.", 9, "Yes, I will.", 30]))), server
    )
    page.goto(server.url + "/agents/dinner")
    page.locator('[name="variables.day"]').fill("Friday")
    page.get_by_role("button", name="Talk", exact=True).click()
    expect(page).to_have_url(re.compile(r"/outbound/ob-[0-9a-f]{8}$"))
    expect(page.get_by_text("You are on the line.")).to_be_visible(timeout=20_000)
    moves(page, "theirs")
    expect(page.locator(".transcript li").first).to_contain_text("Friday")
    expect(page.locator(".state.big")).to_have_text("Completed", timeout=60_000)
    call_id = page.url[-11:]
    assert server.call(call_id)["agent"] == {"slug": "dinner", "version": 1}
    answer = server.result(call_id)["answers"][0]
    assert (answer["status"], answer["value"]) == ("answered", True), server.result(call_id)
    expect(page.locator('[data-part="facts"]').get_by_role("link", name="dinner, version 1")).to_be_visible()
    assert not errors, errors
