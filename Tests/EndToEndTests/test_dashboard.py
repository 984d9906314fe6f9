"""The dashboard in Debian's Chromium: log in, fill in the form, watch the call, read the answers."""
import datetime
import os
import pathlib
import re

import pytest
from conftest import ATTEND, KEY, MOVED
from playwright.sync_api import expect, sync_playwright
from test_inbound import NUMBER, REFUSED, Phone, inbound

SCREENSHOTS = os.environ.get("SCREENSHOTS")


@pytest.fixture
def browser():
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        yield chromium
        chromium.close()


def shots(browser, server, path, name):
    """Pictures at three widths, light and dark, to be looked at; and no page scrolls sideways."""
    for width in (390, 768, 1440):
        for scheme in ("light", "dark"):
            context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
            page = context.new_page()
            page.goto(server.url + "/login")
            page.get_by_label("API key").fill(KEY)
            page.get_by_role("button", name="Log in").click()
            expect(page.get_by_role("heading", name="Calls")).to_be_visible()
            page.goto(server.url + path)
            page.wait_for_timeout(400)
            overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert overflow <= 0, f"{name} scrolls sideways by {overflow} px at {width}"
            if SCREENSHOTS:
                pathlib.Path(SCREENSHOTS).mkdir(parents=True, exist_ok=True)
                page.screenshot(path=f"{SCREENSHOTS}/{name}-{width}-{scheme}.png", full_page=True)
            context.close()


def test_a_call_from_the_form_to_its_answers(server, callee, browser):
    errors = []
    page = browser.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" and "401" not in message.text and "422" not in message.text else None)
    page.on("request", lambda request: errors.append("outside: " + request.url) if not request.url.startswith((server.url, "data:", "ws:")) else None)
    page.goto(server.url + "/")
    page.get_by_label("API key").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_text("This key is not known.")).to_be_visible()
    page.get_by_label("API key").fill(KEY)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_text("No calls yet.")).to_be_visible()
    expect(page.get_by_text("live", exact=True)).to_be_visible()

    page.get_by_role("link", name="New call").first.click()
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page.locator('[data-error="callee_number"]')).to_contain_text("is required")
    expect(page.locator('[data-error="purpose"]')).to_contain_text("is required")
    peer = callee("cooperative")
    page.get_by_label("Callee").fill(peer.address)
    page.get_by_label("Caller number shown").fill("02 555 0100")
    page.get_by_label("On behalf of").fill("<b>Riverside</b> Restaurant")
    page.get_by_label("Purpose").fill("to prepare the company dinner on Friday <script>alert(1)</script>")
    page.get_by_label("Question", exact=True).first.fill(ATTEND)
    page.get_by_role("button", name="Add a question").click()
    page.get_by_label("Question", exact=True).nth(1).fill(MOVED)
    page.get_by_role("button", name="Call", exact=True).click()

    expect(page).to_have_url(re.compile(r"/outbound/ob-[0-9a-f]{8}$"))
    expect(page.locator(".state.big")).to_have_text("Connected", timeout=20_000)
    # Live: the conversation and the answers come while the call lasts.
    expect(page.locator(".transcript li").first).to_contain_text("automated assistant", timeout=40_000)
    expect(page.locator(".answers li").first).to_contain_text("Yes", timeout=60_000)
    expect(page.locator(".state.big")).to_have_text("Completed", timeout=60_000)
    expect(page.locator(".answers li").nth(1)).to_contain_text("No")
    expect(page.get_by_text("2 of 2", exact=True)).to_be_visible()
    expect(page.get_by_role("heading", name="Recording")).to_be_visible()
    page.wait_for_function("document.querySelector('audio').duration > 10", timeout=10_000)
    assert page.locator(".transcript li").count() >= 5
    # Where each answer's time went, one bar an answer, at the time of that answer.
    each = server.result(page.url[-11:])["latency"]["each"]
    expect(page.locator(".waterfall li")).to_have_count(len(each))
    assert len(each) >= 2 and all(server.result(page.url[-11:])["transcript"][one["turn"]]["speaker"] == "ai" for one in each)
    bar = page.locator(".waterfall .bar").first
    assert re.fullmatch(r"end of turn \d+ ms, speech to text \d+ ms, dialogue \d+ ms, text to speech \d+ ms, queueing \d+ ms", bar.get_attribute("aria-label"))
    assert page.evaluate("[...document.querySelectorAll('.waterfall li')].map((row) => row.querySelector('i').offsetWidth).every((width) => width > 40)")
    assert page.evaluate("document.querySelector('h1').children.length") == 0, "the purpose is text"
    path = page.url[len(server.url):]

    page.get_by_role("link", name="Calls").first.click()
    expect(page.locator('[data-figure="completed"]')).to_have_text("1")
    expect(page.locator('[data-figure="success_rate"]')).to_have_text("100 %")
    row = page.locator("tbody tr").first
    expect(row).to_contain_text("Completed")
    page.get_by_placeholder("Search purpose").fill("nothing like this")
    expect(page.get_by_text("No call fits the filter.")).to_be_visible()
    assert errors == [], errors

    for path, name in ((path, "call"), ("/outbound", "list"), ("/outbound/new", "new")):
        shots(browser, server, path, name)


def test_an_open_page_survives_a_restart(server, callee, browser):
    page = browser.new_page()
    page.goto(server.url + "/")
    page.get_by_label("API key").fill(KEY)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    server.kill()
    expect(page.get_by_text("offline, trying again")).to_be_visible(timeout=10_000)
    server.start()
    # Sessions end with the server; the page says so instead of hanging.
    page.reload()
    expect(page.get_by_label("API key")).to_be_visible(timeout=10_000)


def logged_in(browser, server):
    page = browser.new_page()
    page.goto(server.url + "/login")
    page.get_by_label("API key").fill(KEY)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Calls")).to_be_visible()
    return page


def test_an_operator_says_something_and_corrects_an_answer(server, callee, browser):
    page = logged_in(browser, server)
    call_id = server.create(callee("silent").address, [ATTEND])
    page.goto(f"{server.url}/outbound/{call_id}")
    page.get_by_label("Say to the callee").fill("A colleague will call you back.")
    page.get_by_role("button", name="Say").click()
    expect(page.get_by_text("A colleague will call you back.")).to_be_visible(timeout=20_000)
    page.get_by_role("button", name="Hang up").click()
    server.wait_for(call_id)
    expect(page.get_by_label("Say to the callee")).to_be_hidden()
    assert server.request("POST", f"/api/outbound/{call_id}/answers/q1", {"value": "He will come.", "answer_text": "He will come."})[0] == 200
    expect(page.get_by_text(re.compile("Corrected by admin"))).to_be_visible()


def test_the_page_says_what_stood_in_the_way(make_server, browser):
    server = make_server(TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY="127.0.0.1:9", TRUNKLINE_OUTBOUND_MAX_CONCURRENT_CALLS="1")
    later = {"scheduled_at": (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=2)).isoformat()}
    call_id = server.create("01012345678", [ATTEND], **later)
    server.request("POST", "/api/do-not-call", {"number": "010-1234-5678"})
    page = logged_in(browser, server)
    page.goto(f"{server.url}/outbound/{call_id}")
    expect(page.get_by_text("on the do-not-call list", exact=True)).to_be_visible()
    expect(page.get_by_text("Failed", exact=True)).to_be_visible()
    shots(browser, server, f"/outbound/{call_id}", "blocked")


def test_incoming_calls(server, browser):
    """The list of calls that came in, a call's page, and both as things happen."""
    errors = []
    page = browser.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(server.url + "/inbound")
    page.fill('input[name="api_key"]', KEY)
    page.click('button[type="submit"]')
    page.wait_for_selector("text=Nobody has called yet.")
    assert page.locator("h1").inner_text() == "Incoming calls" and page.locator('[data-nav="inbound"][aria-current="page"]').count() == 1
    assert page.locator('[data-part="figures"]').is_hidden() and page.locator("select option").count() == 5
    # It comes in while the page is open.
    assert Phone(server).invite(body=REFUSED) == 488
    page.wait_for_selector('[data-part="rows"] tr')
    call_id = inbound(server)[0]["inbound_id"]
    row = page.locator('[data-part="rows"] tr')
    assert "010****5432" in row.inner_text() and NUMBER in row.inner_text() and "Failed" in row.inner_text()
    row.locator("a").click()
    page.wait_for_url(f"{server.url}/inbound/{call_id}")
    page.wait_for_selector("text=01098765432")
    facts = page.locator('[data-part="facts"]').inner_text()
    assert "Caller" in facts and "Called" in facts and "no codec we speak" in facts and "Callee" not in facts
    assert page.get_by_role("heading", name="Call from 01098765432").is_visible()
    assert page.get_by_role("link", name="Incoming calls").get_attribute("href") == "/inbound"
    assert page.locator('[data-action="retry"]').is_hidden() and page.locator('[data-part="attempts-card"]').is_hidden()
    shots(browser, server, "/inbound", "inbound")
    shots(browser, server, f"/inbound/{call_id}", "inbound-call")
    assert not errors, errors
