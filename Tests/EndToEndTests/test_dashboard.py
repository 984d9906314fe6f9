"""The dashboard in Debian's Chromium: log in, fill in the form, watch the call, read the answers."""

import csv
import datetime
import html.parser
import os
import pathlib
import re

import axe_playwright_python
from conftest import ATTEND, KEY, MOVED, ROOT, mocks
from playwright.sync_api import expect
from test_inbound import NUMBER, REFUSED, Phone, inbound
from test_webhooks import FAST, Receiver

receiver = mocks(Receiver)

SCREENSHOTS = os.environ.get("SCREENSHOTS")
AXE = (pathlib.Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()


def shots(browser, server, **pages):
    """Pictures at three widths, light and dark, to be looked at; and no page scrolls sideways. `pages`: paths by
    name."""
    page = logged_in(browser, server)
    for name, path in pages.items():
        page.goto(server.url + path)
        page.wait_for_timeout(400)
        for width in (390, 768, 1440):
            page.set_viewport_size({"width": width, "height": 900})
            overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert overflow <= 0, f"{name} scrolls sideways by {overflow} px at {width}"
            for scheme in ("light", "dark") if SCREENSHOTS else ():
                pathlib.Path(SCREENSHOTS).mkdir(parents=True, exist_ok=True)
                page.emulate_media(color_scheme=scheme)
                page.wait_for_timeout(200)
                page.screenshot(path=f"{SCREENSHOTS}/{name}-{width}-{scheme}.png", full_page=True)
    page.context.close()


def test_a_call_from_the_form_to_its_answers(server, callee, browser):
    errors = []
    page = browser.new_page()
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
    page.wait_for_function("document.querySelector('audio').duration > 6", timeout=10_000)
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
    page.wait_for_function("document.querySelector('audio').currentTime > 1")
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


def logged_in(browser, server, **options):
    page = browser.new_page(**options)
    page.goto(server.url + "/login")
    page.get_by_label("API key").fill(KEY)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
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
    assert (
        server.request(
            "POST", f"/api/outbound/{call_id}/answers/q1", {"value": "He will come.", "answer_text": "He will come."}
        )[0]
        == 200
    )
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


class Texts(html.parser.HTMLParser):
    """What stands in a page to be read: texts, and attributes that are spoken or shown."""

    def __init__(self):
        super().__init__()
        self.found = set()

    def handle_starttag(self, tag, attributes):
        self.found.update(
            value.strip() for name, value in attributes if name in ("placeholder", "aria-label", "title") and value
        )

    def handle_data(self, data):
        self.found.add(data.strip())


def test_every_text_has_its_translation():
    """None is missing in Korean, none is left over, and what is put into them is the same."""
    web = ROOT / "web"
    page = Texts()
    page.feed((web / "index.html").read_text())
    used = {text for text in page.found if re.search(r"[A-Za-z]{2}", text)}
    for file in web.glob("*.js"):
        if file.name not in ("ko.js", "ko-server.js", "text.js"):
            used |= set(re.findall(r'\bt\(\s*"((?:[^"\\]|\\.)*)"', file.read_text()))
    used -= {"Trunkline", "+82 10 1234 5678 or sip:name@host"}
    texts, names = (web / "ko.js").read_text().split("// Names that the server gives")
    pairs = dict(re.findall(r'"((?:[^"\\]|\\.)*)":\s+"((?:[^"\\]|\\.)*)"', texts))
    assert sorted(used - pairs.keys()) == [], "has no translation"
    assert sorted(pairs.keys() - used) == [], "is not used any more"
    for english, korean in pairs.items():
        assert sorted(re.findall(r"\{\w+\}", english)) == sorted(re.findall(r"\{\w+\}", korean)), english
        assert (
            english == korean == "AI"
            or english in ("Id",)
            or re.search(r"[가-힣]", korean)
            or re.fullmatch(r"\{\w+\}", korean)
        ), f"{english} is not translated"
    assert len(re.findall(r'": "', names)) > 10


def fill(page, **fields):
    for name, value in fields.items():
        control = page.locator(f'dialog [name="{name}"]')
        if control.evaluate("node => node.localName") == "select":
            control.select_option(value)
        else:
            control.fill(value)


def test_an_operators_day(make_server, callee, browser, receiver):
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
    told = server.create(callee("busy").address, [ATTEND], webhook_url=own.url)
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


def test_who_may_only_look_is_offered_nothing_else(server, browser):
    viewer = server.request("POST", "/api/keys", {"name": "v", "role": "viewer"})[1]["key"]
    page = browser.new_page()
    page.goto(server.url + "/login")
    page.get_by_label("API key").fill(viewer)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.goto(server.url + "/settings")
    expect(page.locator(".tabs a")).to_have_text(["Numbers", "Do not call", "Knowledge"])
    page.goto(server.url + "/operators")
    expect(page.get_by_text("No operators yet.")).to_be_visible()
    expect(page.get_by_role("button", name="Add", exact=True)).to_have_count(0)


def test_many_at_once_and_into_a_file(server, browser, callee):
    calls = [
        server.create(callee("busy").address, [ATTEND], purpose=purpose)
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
    assert [row["id"] for row in rows] == calls[::-1] and {row["state"] for row in rows} == {"completed"}
    assert [row["purpose"] for row in rows] == ["plain", 'with, comma and "quotes"', "'=HYPERLINK(\"x\")"], (
        "a formula is text"
    )
    for index in range(2):
        page.locator("tbody tr").nth(index).get_by_role("checkbox").check()
    expect(page.get_by_text("2 selected")).to_be_visible()
    page.get_by_role("button", name="Call the selected numbers again").click()
    expect(page.locator(".bulk")).to_be_hidden()
    page.wait_for_function("document.querySelectorAll('tbody tr').length >= 3")
    retried = [
        call_id
        for call_id in calls
        if len(server.call(call_id)["attempts"]) > 1 or server.call(call_id)["state"] != "completed"
    ]
    for _ in range(50):
        if len(retried) == 2:
            break
        page.wait_for_timeout(100)
        retried = [
            call_id
            for call_id in calls
            if len(server.call(call_id)["attempts"]) > 1 or server.call(call_id)["state"] != "completed"
        ]
    assert sorted(retried) == sorted(calls[1:]), "those that were chosen, and no other"


def test_in_korean(server, browser):
    context = browser.new_context(locale="ko-KR", viewport={"width": 390, "height": 800})
    page = context.new_page()
    page.goto(server.url + "/login")
    page.fill('input[name="api_key"]', KEY)
    page.get_by_role("button", name="로그인").click()
    expect(page.get_by_role("heading", name="현황")).to_be_visible()
    for path in (
        "/",
        "/outbound",
        "/outbound/new",
        "/inbound",
        "/templates",
        "/operators",
        "/settings/numbers",
        "/settings/do-not-call",
        "/settings/knowledge",
        "/settings/webhooks",
        "/settings/keys",
        "/settings/retention",
    ):
        page.goto(server.url + path)
        page.wait_for_selector("h1")
        page.wait_for_timeout(200)
        english = [
            line
            for line in page.locator("body").inner_text().splitlines()
            if re.search(r"[A-Za-z]{4,}", line)
            and not re.search(
                r"[가-힣]|Trunkline|English|embedded|admin|TRUNKLINE|first start|silero|pocketsphinx|sip:", line
            )
        ]
        assert english == [], (path, english)
        overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert overflow <= 0, f"{path} scrolls sideways by {overflow} px"
    # What the server finds wrong is said in Korean too.
    page.goto(server.url + "/outbound/new")
    page.locator('[name="callee_number"]').fill("112")
    expect(page.locator('[data-error="callee_number"]')).to_have_text("확인하세요: 긴급 번호로는 걸지 않습니다.")
    page.get_by_role("button", name="통화", exact=True).click()
    expect(page.locator('[data-error="purpose"]')).to_have_text("확인하세요: 필수 항목입니다.")
    page.locator("select.language").select_option("en")
    expect(page.get_by_role("link", name="Overview")).to_be_visible()
    page.reload()
    assert page.evaluate("document.documentElement.lang") == "en", "the choice is kept"
    context.close()


def test_everybody_can_use_it(server, browser, callee):
    """axe-core's rules (WCAG 2.1 A and AA) find nothing, on any page, light or dark."""
    call_id = server.create(callee("cooperative").address, [ATTEND])
    server.wait_for(call_id)
    server.request("POST", "/api/operators", {"name": "Kim", "sip_user": "kim", "number": "1001"})
    server.request("POST", "/api/templates", {"name": "Dinner", "purpose": "dinner", "questions": [ATTEND]})
    page = browser.new_page()

    def problems_of_both():
        """Light and dark."""
        for scheme in ("dark", "light"):
            page.emulate_media(color_scheme=scheme)
            yield from problems(page)

    page.goto(server.url + "/login")
    found = {"/login": list(problems_of_both())}
    page.fill('input[name="api_key"]', KEY)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    for path in (
        "/",
        "/outbound",
        "/outbound/new",
        f"/outbound/{call_id}",
        "/inbound",
        "/templates",
        "/operators",
        "/settings/numbers",
        "/settings/keys",
        "/settings/retention",
        "/settings/audit",
    ):
        page.goto(server.url + path)
        page.wait_for_selector("h1")
        page.wait_for_timeout(300)
        found[path] = list(problems_of_both())
    page.goto(server.url + "/operators")
    page.get_by_role("button", name="Add", exact=True).click()
    found["dialog"] = list(problems_of_both())
    assert {path: rules for path, rules in found.items() if rules} == {}


def problems(page):
    page.evaluate(AXE)
    result = page.evaluate(
        "() => axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'] })"
    )
    return [f"{rule['id']}: {rule['nodes'][0]['html'][:120]}" for rule in result["violations"]]
