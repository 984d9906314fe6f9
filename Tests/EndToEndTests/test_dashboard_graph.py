"""The audio path on a call's page: drawn from real calls, live and afterwards, and as tables."""

import pathlib
import re

import pytest
from conftest import call_path, mocks
from dashboard_pages import SCREENSHOTS, logged_in, problems
from mock_speech import MockSpeech
from playwright.sync_api import expect
from realtime_calls import ended, realtime, stream, the_call

speech = mocks(MockSpeech)


def picture(page, name):
    if SCREENSHOTS:
        pathlib.Path(SCREENSHOTS).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=f"{SCREENSHOTS}/{name}.png", full_page=True)


def opened(browser, server, call_id, language="en", **options):
    page = logged_in(browser, server, **options)
    page.evaluate("language => localStorage.setItem('language', language)", language)
    page.goto(server.url + call_path(call_id).removeprefix("/api"))
    expect(page.locator("svg.graph")).to_be_visible()
    return page


def frames(page, stage):
    return int(re.search(r"\d+", page.locator(f'[data-stage-name="{stage}"] text').nth(1).text_content()).group())


def test_a_realtime_call_is_drawn_live_and_keeps_its_last_figures(make_server, model, browser):
    server = make_server(**realtime(model([{"text": "A long greeting.", "ms": 20_000}])))
    carrier = stream(server)
    carrier.wait(lambda: carrier.played_ms() >= 200, what="the greeting")
    call_id = the_call(server)
    page = opened(browser, server, call_id, viewport={"width": 1440, "height": 900})
    names = page.locator("svg.graph .stage .name").all_text_contents()
    assert names == [
        "Receive",
        "Voice activity",
        "Turns",
        "Barge-in",
        "Speech model",
        "Frame",
        "Pacer",
    ]
    expect(page.locator('[data-part="graph-mode"]')).to_have_text("realtime/openai · live")
    first = frames(page, "receive")
    expect(page.locator('[data-edge="speech"] .filled')).not_to_have_attribute("width", "0")
    page.wait_for_timeout(2_500)
    assert frames(page, "receive") >= first + 50, "the drawing does not move"
    picture(page, "graph-realtime")
    # All at once: the drawing is made anew every second.
    boxes = page.locator("svg.graph .stage rect").evaluate_all(
        "rects => rects.map(rect => rect.getBoundingClientRect().toJSON())"
    )
    assert len(boxes) == len(names)
    for index, one in enumerate(boxes):
        for other in boxes[index + 1 :]:
            assert (
                one["x"] + one["width"] <= other["x"] + 0.5
                or other["x"] + other["width"] <= one["x"] + 0.5
                or one["y"] + one["height"] <= other["y"] + 0.5
                or other["y"] + other["height"] <= one["y"] + 0.5
            ), "boxes overlap"
    page.get_by_text("Figures as tables").click()
    rows = page.locator('[data-part="graph-tables"] table').first.locator("tbody th").all_text_contents()
    assert rows == names
    assert problems(page) == []
    carrier.hang_up()
    ended(server)
    expect(page.locator('[data-part="graph-mode"]')).to_have_text("realtime/openai · final figures", timeout=10_000)
    last = frames(page, "receive")
    page.wait_for_timeout(1_500)
    assert frames(page, "receive") == last >= first


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_cascade_with_a_full_queue_shows_it(make_server, speech, browser, scheme):
    mock = speech([{"text": "Good morning."}], ["hello"], faults={"transcription": "slow"})
    server = make_server(
        **mock.settings(stt="openai"), TRUNKLINE_BRIDGE_OPEN_STREAMS="true", TRUNKLINE_AGENT_FALLBACK="false"
    )
    carrier = stream(server)
    call_id = the_call(server)
    carrier.wait(lambda: carrier.chunk > 50, what="a beginning")
    carrier.say(1_000)
    carrier.wait(lambda: mock.transcriptions, what="the first turn, which takes the recogniser 15 s")
    carrier.say(12_500)
    page = opened(browser, server, call_id, viewport={"width": 1280, "height": 900}, color_scheme=scheme, language="ko")
    heard = page.locator('[data-edge="heard"]')
    expect(heard).to_have_attribute("data-tone", "bad", timeout=20_000)
    expect(heard.locator("text")).to_have_text(re.compile(r"들은 소리 500/500"), timeout=20_000)
    assert heard.locator(".filled").get_attribute("width") == heard.locator(".room").get_attribute("width")
    picture(page, f"graph-cascade-full-{scheme}")
    assert page.locator("svg.graph .stage").count() == 10
    assert problems(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    picture(page, f"graph-cascade-phone-{scheme}")
    carrier.hang_up()
    ended(server)


def test_a_call_that_was_never_connected_has_no_drawing(server, browser):
    call_id = server.create("sip:nobody@127.0.0.1:9")
    server.wait_for(call_id)
    page = logged_in(browser, server)
    page.goto(f"{server.url}/outbound/{call_id}")
    expect(page.get_by_role("heading", name="Attempts")).to_be_visible()
    page.wait_for_timeout(500)
    expect(page.locator('[data-part="graph-card"]')).to_be_hidden()
