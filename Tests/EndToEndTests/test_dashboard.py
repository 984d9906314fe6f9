"""The dashboard in Debian's Chromium: log in, fill in the form, watch the call, read the answers."""

import csv
import datetime
import re

from conftest import ATTEND, KEY, MOVED, mocks
from dashboard_pages import WAVES, logged_in, shots, until
from inbound_calls import NUMBER, REFUSED, Phone, inbound
from playwright.sync_api import expect
from test_webhooks import FAST, Receiver

receiver = mocks(Receiver)


def test_a_call_from_the_form_to_its_answers(server, callee, browser):
    errors = []
    page = browser.new_page(reduced_motion="reduce")
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on(
        "console",
        lambda message: (
            errors.append(message.text)
            if message.type == "error" and "401" not in message.text and "422" not in message.text
            else None
        ),
    )
    page.on(
        "request",
        lambda request: (
            errors.append("outside: " + request.url)
            if not request.url.startswith((server.url, "data:", "ws:"))
            else None
        ),
    )
    page.goto(server.url + "/")
    page.get_by_label("API key").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_text("Unknown API key.")).to_be_visible()
    page.get_by_label("API key").fill(KEY)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_text("No calls yet.")).to_be_visible()
    expect(page.get_by_text("live", exact=True)).to_be_visible()

    page.get_by_role("link", name="New call").first.click()
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page.locator('[data-error="callee_number"]')).to_contain_text("is required")
    expect(page.locator('[data-error="purpose"]')).to_contain_text("is required")
    # Limits and defaults are the server's.
    assert page.get_by_label("Purpose").get_attribute("maxlength") == "2000"
    priority = page.locator('[name="priority"]')
    assert [priority.get_attribute(name) for name in ("min", "max", "placeholder")] == ["1", "10", "5"]
    assert page.locator('[name="retry_on_no_answer"]').is_checked()
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
    expect(page.locator(".transcript li").first).to_contain_text("Hello", timeout=40_000)
    expect(page.locator(".answers li").first).to_contain_text("Yes", timeout=60_000)
    expect(page.locator(".state.big")).to_have_text("Completed", timeout=60_000)
    expect(page.locator(".answers li").nth(1)).to_contain_text("No")
    expect(page.get_by_text("2 of 2", exact=True)).to_be_visible()
    expect(page.get_by_role("heading", name="Recording")).to_be_visible()
    until(page, "document.querySelector('audio').duration > 6")
    # The sound as a picture; both sides have something in it, and a click plays from there.
    expect(page.get_by_role("img", name=re.compile(r"Sound of 0:\d\d: the far end above"))).to_be_visible()
    drawn = page.evaluate("""() => {
      const canvas = document.querySelector("canvas"), pen = canvas.getContext("2d");
      const filled = (top) => {
        const { data } = pen.getImageData(0, top, canvas.width, canvas.height / 2);
        let count = 0;
        for (let at = 3; at < data.length; at += 4) count += data[at] > 0;
        return count / (data.length / 4);
      };
      return [filled(0), filled(canvas.height / 2)];
    }""")
    assert all(0.02 < share < 0.9 for share in drawn), drawn
    page.locator("canvas").click(position={"x": 150, "y": 40})
    until(page, "document.querySelector('audio').currentTime > 1")
    # The recording of a wide stream has twice the samples a second.
    assert page.evaluate(WAVES, [8_000, 16_000]) == ["0:03", "0:03"]
    assert page.locator(".transcript li").count() >= 5
    # Where each answer's time went, one bar an answer, at the time of that answer.
    each = server.result(page.url[-11:])["latency"]["each"]
    expect(page.locator(".waterfall li")).to_have_count(len(each))
    assert len(each) >= 2 and all(
        server.result(page.url[-11:])["transcript"][one["turn"]]["speaker"] == "ai" for one in each
    )
    bar = page.locator(".waterfall .bar").first
    assert re.fullmatch(
        r"end of turn \d+ ms, speech to text \d+ ms, dialogue \d+ ms, text to speech \d+ ms, queueing \d+ ms",
        bar.get_attribute("aria-label"),
    )
    assert page.evaluate(
        "[...document.querySelectorAll('.waterfall li')].map((row) => row.querySelector('i').offsetWidth)"
        ".every((width) => width > 40)"
    )
    assert page.evaluate("document.querySelector('h1').children.length") == 0, "the purpose is text"
    path = page.url[len(server.url) :]

    page.get_by_role("link", name="Calls").first.click()
    expect(page.locator('[data-figure="completed"]')).to_have_text("1")
    expect(page.locator('[data-figure="success_rate"]')).to_have_text("100 %")
    row = page.locator("tbody tr").first
    expect(row).to_contain_text("Completed")
    page.get_by_placeholder("Search purpose").fill("nothing like this")
    expect(page.get_by_text("No calls match the filter.")).to_be_visible()
    assert errors == [], errors

    shots(browser, server, call=path, list="/outbound", new="/outbound/new")


def test_an_open_page_survives_a_restart(server, callee, browser):
    page = browser.new_page()
    page.goto(server.url + "/")
    page.get_by_label("API key").fill(KEY)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    server.kill()
    expect(page.get_by_text("offline, trying again")).to_be_visible(timeout=10_000)
    server.start()
    expect(page.get_by_text("live", exact=True)).to_be_visible(timeout=20_000)
    # A key that is revoked ends its logins, wherever their pages are.
    status, made = server.request("POST", "/api/keys", {"name": "somebody else", "role": "admin"})
    key = next(item for item in server.request("GET", "/api/keys")[1]["items"] if item["name"] == "admin")
    assert status == 201 and server.request("DELETE", f"/api/keys/{key['id']}", key=made["key"])[0] == 204
    expect(page.get_by_label("API key")).to_be_visible(timeout=20_000)


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
    assert (
        server.request(
            "POST", f"/api/outbound/{call_id}/answers/q1", {"value": "He will come.", "answer_text": "He will come."}
        )[0]
        == 200
    )
    expect(page.get_by_text(re.compile("Corrected by admin"))).to_be_visible()


def test_the_call_page_shows_why_a_call_was_not_placed(make_server, browser):
    server = make_server(TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY="127.0.0.1:9", TRUNKLINE_OUTBOUND_MAX_CONCURRENT_CALLS="1")
    later = {"scheduled_at": (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=2)).isoformat()}
    call_id = server.create("01012345678", [ATTEND], **later)
    server.request("POST", "/api/do-not-call", {"number": "010-1234-5678"})
    page = logged_in(browser, server)
    page.goto(f"{server.url}/outbound/{call_id}")
    expect(page.get_by_text("on the do-not-call list", exact=True)).to_be_visible()
    expect(page.get_by_text("Failed", exact=True)).to_be_visible()
    shots(browser, server, blocked=f"/outbound/{call_id}")


def test_incoming_calls(server, browser):
    """The list of calls that came in, a call's page, and both as things happen."""
    errors = []
    page = browser.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(server.url + "/inbound")
    page.fill('input[name="api_key"]', KEY)
    page.click('button[type="submit"]')
    page.wait_for_selector("text=No inbound calls yet.")
    assert (
        page.locator("h1").inner_text() == "Incoming calls"
        and page.locator('[data-nav="inbound"][aria-current="page"]').count() == 1
    )
    assert (
        page.locator('[data-part="figures"]').is_hidden() and page.locator('select[name="state"] option').count() == 5
    )
    # It comes in while the page is open.
    assert Phone(server).invite(body=REFUSED) == 488
    page.wait_for_selector('[data-part="rows"] tbody tr')
    call_id = inbound(server)[0]["inbound_id"]
    row = page.locator('[data-part="rows"] tbody tr')
    assert "010****5432" in row.inner_text() and NUMBER in row.inner_text() and "Failed" in row.inner_text()
    row.locator("a").click()
    page.wait_for_url(f"{server.url}/inbound/{call_id}")
    page.wait_for_selector("text=01098765432")
    facts = page.locator('[data-part="facts"]').inner_text()
    assert "Caller" in facts and "Called" in facts and "no codec we speak" in facts and "Callee" not in facts
    assert page.get_by_role("heading", name="Call from 01098765432").is_visible()
    assert page.get_by_role("link", name="Incoming calls").get_attribute("href") == "/inbound"
    assert page.locator('[data-action="retry"]').is_hidden() and page.locator('[data-part="attempts-card"]').is_hidden()
    shots(browser, server, inbound="/inbound", inbound_call=f"/inbound/{call_id}")
    assert not errors, errors


def fill(page, **fields):
    for name, value in fields.items():
        control = page.locator(f'dialog [name="{name}"]')
        if control.evaluate("node => node.localName") == "select":
            control.select_option(value)
        else:
            control.fill(value)


def test_an_operator_manages_templates_people_numbers_and_keys(make_server, callee, browser, receiver):
    """Templates, a call by one of them, people, numbers, a list of those not to be called, keys, what was posted, and
    who did all this."""
    server = make_server(**FAST)
    errors = []
    page = logged_in(browser, server)
    page.on("pageerror", lambda error: errors.append(str(error)))
    expect(page.get_by_text("No live calls.")).to_be_visible()

    page.get_by_role("link", name="Templates").click()
    expect(page.get_by_text("No templates yet.")).to_be_visible()
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_role("button", name="Save").click()
    expect(page.locator('dialog [data-error="name"]')).to_contain_text("is required")
    fill(page, name="Dinner <i>", purpose="to prepare the company dinner on Friday", caller_display_name="Riverside")
    page.locator('dialog [data-field="text"]').first.fill(ATTEND)
    page.locator('dialog [data-field="type"]').first.select_option("boolean")
    page.get_by_role("button", name="Save").click()
    row = page.locator("tbody tr")
    expect(row).to_contain_text("Dinner <i>")
    row.get_by_role("button", name="Edit").click()
    fill(page, purpose="to prepare the dinner")
    page.get_by_role("button", name="Save").click()
    expect(row).to_contain_text("to prepare the dinner")
    assert server.request("GET", "/api/templates")[1]["items"][0]["questions"][0]["text"] == ATTEND

    own = receiver(lambda event, number: 410)
    page.goto(server.url + "/outbound/new")
    page.get_by_label("Template").select_option(label="Dinner <i>")
    expect(page.get_by_label("Purpose")).to_have_value("to prepare the dinner")
    expect(page.get_by_label("Question", exact=True)).to_have_value(ATTEND)
    page.get_by_label("Callee").fill(callee("cooperative").address)
    page.get_by_label("Caller number shown").fill("02 555 0100")
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page).to_have_url(re.compile(r"/outbound/ob-[0-9a-f]{8}$"))
    call_id = page.url[-11:]
    page.get_by_role("link", name="Overview").click()
    live = page.locator(f'tr[data-id="{call_id}"]')
    expect(live).to_contain_text("to prepare the dinner")
    expect(live.locator('[data-cell="clock"]')).to_have_text(re.compile(r"0:0[2-9]"), timeout=15_000)
    server.wait_for(call_id)
    expect(page.get_by_text("No live calls.")).to_be_visible()
    expect(page.locator('[data-part="days"] li')).to_have_count(1)
    expect(page.locator('[data-figure="today"]')).to_have_text("1")
    expect(page.locator(".asked h3")).to_have_text([ATTEND])
    expect(page.locator(".asked li")).to_have_text(re.compile("^Yes *1$"))

    # The answer is set right, in its own type.
    page.goto(f"{server.url}/outbound/{call_id}")
    page.get_by_role("button", name="Correct").click()
    page.get_by_label("The right answer").fill("No")
    page.locator(".correct button").click()
    expect(page.get_by_text(re.compile("Corrected by admin"))).to_be_visible()
    assert server.result(call_id)["answers"][0]["value"] is False
    page.get_by_role("link", name="Overview").click()
    expect(page.locator(".asked li")).to_have_text(re.compile("^No *1$"))

    page.get_by_role("link", name="Operators").click()
    page.get_by_role("button", name="Add", exact=True).click()
    fill(page, name="Kim Minsu", number="1001", sip_user="kim", sip_password="short")
    page.get_by_role("button", name="Save").click()
    expect(page.locator('dialog [data-error="sip_password"]')).not_to_be_empty()
    fill(page, sip_password="correct-horse-battery")
    page.get_by_role("button", name="Save").click()
    row = page.locator("tbody tr")
    expect(row).to_contain_text("not registered")
    row.get_by_role("button", name="Away").click()
    expect(row.get_by_role("button", name="Available")).to_be_visible()
    assert server.request("GET", "/api/operators")[1]["items"][0]["status"] == "away"

    page.get_by_role("link", name="Settings").click()
    expect(page.get_by_role("heading", name="Numbers")).to_be_visible()
    page.get_by_role("button", name="Add", exact=True).click()
    fill(page, number="02 555 0100", label="Front desk", daily_cap="50")
    page.locator('dialog [name="template_id"]').select_option(label="Dinner <i>")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("tbody tr")).to_contain_text("1 of 50")
    page.get_by_role("link", name="Do not call").click()
    page.get_by_role("button", name="Add", exact=True).click()
    fill(page, number="010-9999-8888", reason="asked for it")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("tbody tr")).to_contain_text("asked for it")
    page.get_by_placeholder("Search").fill("0000")
    expect(page.get_by_text("No entries match the filter.")).to_be_visible()
    page.get_by_placeholder("Search").fill("")
    page.locator("tbody tr").get_by_role("button", name="Remove").click()
    page.get_by_role("button", name="Keep it").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    page.locator("tbody tr").get_by_role("button", name="Remove").click()
    page.locator("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_text("The list is empty.")).to_be_visible()
    page.get_by_role("link", name="Knowledge").click()
    page.get_by_role("button", name="Add", exact=True).click()
    fill(page, question="When do you open?", answer="At nine.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("tbody tr")).to_contain_text("At nine.")

    # A message that was given up is sent again.
    told = server.create(callee("rejects").address, [ATTEND], webhook_url=own.url)
    server.wait_for(told)
    page.get_by_role("link", name="Webhooks").click()
    row = page.locator("tbody tr").filter(has_text="outbound_ringing").or_(page.locator("tbody tr")).first
    page.get_by_label("State").select_option("dead")
    expect(row).to_contain_text("given up", timeout=15_000)
    own.answer = lambda event, number: 200
    row.get_by_role("button", name="Send again").click()
    own.wait_for(lambda events: len(events) > 0, seconds=20)

    page.get_by_role("link", name="API keys").click()
    page.get_by_role("button", name="Add", exact=True).click()
    fill(page, name="dashboard", role="viewer")
    page.get_by_role("button", name="Save").click()
    key = page.locator("dialog input[readonly]").input_value()
    assert server.request("GET", "/api/outbound/", key=key)[0] == 200
    page.get_by_role("button", name="Done").click()
    page.locator("tbody tr").filter(has_text="dashboard").get_by_role("button", name="Revoke").click()
    page.locator("dialog").get_by_role("button", name="Revoke").click()
    expect(page.locator("tbody tr").filter(has_text="dashboard")).to_contain_text("revoked")
    assert server.request("GET", "/api/outbound/", key=key)[0] == 401
    page.get_by_role("link", name="Audit").click()
    expect(page.locator("tbody")).to_contain_text("key.revoke")
    expect(page.locator("tbody")).to_contain_text("operator.status")
    assert errors == [], errors
    shots(
        browser,
        server,
        overview="/",
        templates="/templates",
        operators="/operators",
        numbers="/settings/numbers",
        keys="/settings/keys",
        webhooks="/settings/webhooks",
        audit="/settings/audit",
    )


def test_selected_calls_are_changed_together_and_exported(server, browser, callee):
    calls = [
        server.create(callee("rejects").address, [ATTEND], purpose=purpose)
        for purpose in ('=HYPERLINK("x")', "with, comma and \"quotes\"", "plain")
    ]
    for call_id in calls:
        server.wait_for(call_id)
    page = logged_in(browser, server)
    page.goto(server.url + "/outbound")
    expect(page.locator("tbody tr")).to_have_count(3)
    with page.expect_download() as download:
        page.get_by_role("button", name="Export as CSV").click()
    rows = list(csv.DictReader(open(download.value.path(), encoding="utf-8-sig", newline="")))
    assert [row["id"] for row in rows] == calls[::-1] and {row["state"] for row in rows} == {"rejected"}
    assert [row["purpose"] for row in rows] == ["plain", 'with, comma and "quotes"', "'=HYPERLINK(\"x\")"], (
        "a formula is text"
    )
    for index in range(2):
        page.locator("tbody tr").nth(index).get_by_role("checkbox").check()
    expect(page.get_by_text("2 selected")).to_be_visible()
    page.get_by_role("button", name="Call the selected numbers again").click()
    expect(page.locator(".bulk")).to_be_hidden()
    until(page, "document.querySelectorAll('tbody tr').length >= 3")
    for _ in range(50):
        retried = [call_id for call_id in calls if len(server.call(call_id)["attempts"]) > 1]
        if len(retried) == 2:
            break
        page.wait_for_timeout(100)
    assert sorted(retried) == sorted(calls[1:]), "those that were chosen, and no other"
