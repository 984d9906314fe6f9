"""What of the dashboard moves by itself or answers at once: meters, sorting, checks while typing, actions ahead of the
server, the server gone and back."""

import datetime
import json
import re

import pytest
from conftest import ATTEND, KEY
from dashboard_pages import logged_in
from operators import wait_until
from playwright.sync_api import expect


@pytest.fixture
def page(server, browser):
    return logged_in(browser, server)


def later(server, number, **fields):
    """A call that waits until tomorrow."""
    tomorrow = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=1)
    return server.create(f"sip:{number}@127.0.0.1:9", [ATTEND], scheduled_at=tomorrow.isoformat(), **fields)


def test_meters_show_which_side_speaks(server, callee, page):
    server.create(callee("cooperative").address, [ATTEND])
    meter = lambda side: page.evaluate(f"document.querySelector('[data-level={side}]')?.value ?? 0")
    for side in ("own", "far"):
        wait_until(lambda: meter(side) > 40, 40, f"the meter does not move: {side}")


# Headless Chromium never hides a page.
HIDDEN = """isHidden => {
  Object.defineProperty(document, "hidden", { get: () => isHidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_a_hidden_page_makes_no_requests(server, page):
    live, queued = page.locator('[data-figure="live"]'), page.locator('[data-figure="queued"]')
    asked, sockets = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("websocket", lambda socket: sockets.append(socket))
    page.add_init_script("""globalThis.opened = [];
        globalThis.WebSocket = class extends WebSocket {
          constructor(...given) {
            super(...given);
            this.addEventListener("open", () => opened.push(this.url));
          }
        };""")
    with page.expect_websocket(lambda one: one.url.endswith("/api/levels")) as opened:
        page.reload()
    levels = opened.value
    # A socket that is not open yet ends without a close.
    wait_until(lambda: levels.url in page.evaluate("opened"))
    with levels.expect_event("close"):
        page.evaluate(HIDDEN, True)
    page.wait_for_timeout(600)
    asked.clear()
    sockets.clear()
    later(server, "lee")
    page.wait_for_timeout(6_000)
    assert (asked, sockets, queued.inner_text()) == ([], [], "0")
    page.evaluate(HIDDEN, False)
    expect(queued).to_have_text("1")
    expect(live).to_have_text("0")
    assert [one.url.split("/")[-1] for one in sockets] == ["levels"]
    # The list of calls does the same.
    page.goto(server.url + "/outbound")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.evaluate(HIDDEN, True)
    later(server, "kim")
    page.wait_for_timeout(1_000)
    assert page.locator("tbody tr").count() == 1
    page.evaluate(HIDDEN, False)
    expect(page.locator("tbody tr")).to_have_count(2)


def test_a_page_waits_after_too_many_requests(server, page):
    refused = []

    def refuse(route):
        refused.append(route.request.url)
        if len(refused) < 3:
            return route.fulfill(
                status=429,
                headers={"retry-after": "1"},
                content_type="application/problem+json",
                body='{"detail": "too many requests"}',
            )
        return route.fallback()

    later(server, "lee")
    page.route(re.compile(r"/api/outbound/(\?|$)"), refuse)
    page.goto(server.url + "/outbound")
    expect(page.locator("tbody tr")).to_have_count(1, timeout=15_000)
    assert len(refused) == 3


def test_a_list_is_sorted_by_its_columns(server, page):
    for number, purpose in (("b", "to ask about pears"), ("c", "to ask about apples"), ("a", "to ask about cherries")):
        later(server, number, purpose=purpose)
    page.goto(server.url + "/outbound")
    purposes = lambda: [text.split()[-1] for text in page.locator('tbody [data-cell="purpose"]').all_text_contents()]
    expect(page.locator("tbody tr")).to_have_count(3)
    head = lambda name: page.locator("th", has=page.get_by_role("button", name=name, exact=True))
    assert purposes() == ["cherries", "apples", "pears"] and head("Time").get_attribute("aria-sort") == "descending"
    page.get_by_role("button", name="Purpose", exact=True).click()
    assert purposes() == ["apples", "cherries", "pears"] and head("Purpose").get_attribute("aria-sort") == "ascending"
    page.get_by_role("button", name="Purpose", exact=True).click()
    assert purposes() == ["pears", "cherries", "apples"] and head("Purpose").get_attribute("aria-sort") == "descending"
    # A call that comes meanwhile is put where it belongs.
    later(server, "aa", purpose="to ask about figs")
    expect(page.locator("tbody tr")).to_have_count(4)
    assert purposes() == ["pears", "figs", "cherries", "apples"]
    page.get_by_role("button", name="Time", exact=True).click()
    assert purposes() == ["figs", "cherries", "apples", "pears"] and head("Purpose").get_attribute("aria-sort") is None


def test_a_list_can_be_limited_to_days(server, page):
    for number in ("a", "b"):
        later(server, number)
    day = lambda days: (datetime.datetime.now() + datetime.timedelta(days=days)).date().isoformat()
    page.goto(server.url + "/outbound")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(2)
    page.get_by_label("From").fill(day(1))
    expect(page.get_by_text("No calls match the filter.")).to_be_visible()
    expect(rows).to_have_count(0)
    page.get_by_label("From").fill(day(-1))
    expect(rows).to_have_count(2)
    page.get_by_label("Until").fill(day(-1))
    expect(rows).to_have_count(0)
    page.get_by_label("Until").fill(day(1))
    expect(rows).to_have_count(2)
    # What is no day that a call can have is none at all.
    page.get_by_label("From").fill("2100-01-01")
    expect(rows).to_have_count(2)


def test_a_long_list_keeps_its_pages_when_a_call_changes(server, page):
    for number in range(60):
        later(server, f"n{number}", purpose=f"call {number % 7}{number:02}")
    page.goto(server.url + "/outbound")
    expect(page.locator("tbody tr")).to_have_count(50)
    page.get_by_role("button", name="Load more").click()
    expect(page.locator("tbody tr")).to_have_count(60)
    last = page.locator("tbody tr").last
    last.get_by_role("checkbox").check()
    last.get_by_role("checkbox").focus()
    page.evaluate("globalThis.node = document.activeElement")
    later(server, "another")
    expect(page.locator("tbody tr")).to_have_count(61)
    assert page.evaluate(
        "document.activeElement === globalThis.node && globalThis.node.isConnected && globalThis.node.checked"
    )
    assert page.get_by_role("button", name="Load more").is_hidden()
    # In another order, from the first group of rows to the last.
    purposes = lambda: page.locator('tbody [data-cell="purpose"]').all_text_contents()
    expected = sorted(purposes(), key=str.lower)
    page.get_by_role("button", name="Purpose", exact=True).click()
    wait_until(lambda: purposes() == expected)
    assert len(set(expected)) == 61 and page.evaluate("globalThis.node.isConnected && globalThis.node.checked")
    # A change that another client made to a call far down is seen; a row that no longer fits the filter goes.
    server.request("POST", f"/api/outbound/{last.get_attribute('data-id')}/cancel", {})
    expect(last.locator(".state")).to_have_text("Cancelled")
    page.locator("select[name=state]").select_option("cancelled")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.locator("select[name=state]").select_option("")
    expect(page.locator("tbody tr")).to_have_count(50)
    page.get_by_label("Carrier").select_option(label="Another server")
    expect(page.get_by_text("No calls match the filter.")).to_be_visible()
    page.get_by_label("Carrier").select_option("")
    page.get_by_label("Dialect").select_option(label="Genesys")
    expect(page.get_by_text("No calls match the filter.")).to_be_visible()


def test_a_form_is_checked_while_it_is_filled_in(server, page):
    page.goto(server.url + "/outbound/new")
    page.get_by_label("Callee").press_sequentially("nobody")
    expect(page.locator('[data-error="callee_number"]')).to_contain_text("must be a number of 3 to 15 digits")
    assert page.locator('[data-error="purpose"]').inner_text() == "", "an untouched field shows no error"
    assert page.evaluate("document.activeElement.name") == "callee_number", "who types is not disturbed"
    page.get_by_label("Callee").fill("112")
    expect(page.locator('[data-error="callee_number"]')).to_contain_text("emergency numbers are never dialled")
    page.get_by_label("Callee").fill("sip:lee@127.0.0.1:9")
    expect(page.locator('[data-error="callee_number"]')).to_have_text("")
    page.get_by_text("Advanced settings").click()
    page.get_by_label("Maximum duration, s").fill("5")
    expect(page.locator('[data-error="max_duration"]')).to_contain_text("10")
    # A bad field that is folded away is brought to light.
    page.get_by_text("Advanced settings").click()
    expect(page.get_by_label("Maximum duration, s")).to_be_hidden()
    page.get_by_label("Purpose").fill("to ask")
    page.get_by_label("Caller number shown").fill("025550100")
    page.get_by_label("Question", exact=True).first.fill(ATTEND)
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page.get_by_label("Maximum duration, s")).to_be_focused()
    assert server.request("GET", "/api/outbound/")[1]["items"] == []


def test_a_change_that_the_server_refuses_is_undone(server, page):
    call_id = later(server, "lee")
    refusal = {
        "type": "about:blank",
        "title": "Conflict",
        "status": 409,
        "detail": "somebody was faster",
        "code": "conflict",
    }
    held = []
    page.route("**/cancel", lambda route: held.append(route))
    page.goto(f"{server.url}/outbound/{call_id}")
    page.get_by_role("button", name="Cancel", exact=True).click()
    expect(page.locator(".state.big")).to_have_text("Cancelling")
    held.pop().fulfill(status=409, content_type="application/problem+json", body=json.dumps(refusal))
    expect(page.get_by_text("somebody was faster")).to_be_visible()
    expect(page.locator(".state.big")).to_have_text("Queued")
    page.goto(server.url + "/outbound")
    page.locator("tbody").get_by_role("button", name="Cancel").click()
    expect(page.locator("tbody .state")).to_have_text("Cancelled")
    held.pop().fulfill(status=409, content_type="application/problem+json", body=json.dumps(refusal))
    expect(page.get_by_text("somebody was faster")).to_be_visible()
    expect(page.locator("tbody .state")).to_have_text("Queued")
    # And what it does is as it was shown.
    page.unroute("**/cancel")
    page.locator("tbody").get_by_role("button", name="Cancel").click()
    expect(page.locator("tbody .state")).to_have_text("Cancelled")
    server.wait_for(call_id, {"cancelled"})


def test_a_page_reconnects_to_a_restarted_server(server, page):
    later(server, "lee", purpose="to ask before it goes")
    page.goto(server.url + "/outbound")
    expect(page.locator("tbody tr")).to_have_count(1)
    banner = page.locator('[data-part="banner"]').filter(has_text="The server cannot be reached.")
    expect(banner).to_be_hidden()
    server.kill()
    expect(banner).to_be_visible(timeout=10_000)
    server.start()
    later(server, "kim", purpose="to ask when it is back")
    expect(banner).to_be_hidden(timeout=20_000)
    # What happened meanwhile is there, once.
    expect(page.locator("tbody tr")).to_have_count(2)
    expect(page.get_by_text("to ask when it is back")).to_be_visible()


def test_documents_are_added_and_retention_is_shown(server, page, tmp_path):
    (tmp_path / "opening hours.md").write_text(
        "# Opening hours\n\nWe are open from nine to five, and closed on Sundays.\n"
    )
    (tmp_path / "broken.pdf").write_bytes(b"no PDF at all")
    page.goto(server.url + "/settings/knowledge")
    with page.expect_file_chooser() as chosen:
        page.get_by_role("button", name="Add documents").click()
    chosen.value.set_files([tmp_path / "opening hours.md", tmp_path / "broken.pdf"])
    # One that cannot be read is named, and the other is there.
    expect(page.get_by_text("broken.pdf: ")).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody tr")).to_contain_text("opening hours.md")
    found = server.request("POST", "/api/knowledge/search", {"query": "are you open on Sundays?"})[1]["items"]
    assert "closed on Sundays" in found[0]["text"], found
    page.goto(server.url + "/settings/retention")
    row = page.locator("tbody tr", has_text="recordings are kept")
    expect(row).to_contain_text("forever")


def test_a_list_keeps_its_state_when_the_user_returns(server, page):
    for number in range(60):
        later(server, f"n{number}", purpose="to ask about pears" if number % 10 else "to ask about figs")
    page.get_by_role("link", name="Calls").first.click()
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(50)
    page.get_by_role("button", name="Load more").click()
    expect(rows).to_have_count(60)
    page.evaluate("scrollTo(0, 1500)")
    rows.nth(30).get_by_role("link").click()
    expect(page.get_by_role("heading", name="to ask about")).to_be_visible()
    assert page.evaluate("scrollY") == 0
    page.go_back()
    expect(rows).to_have_count(60)
    wait_until(lambda: page.evaluate("scrollY") > 1_000)
    page.get_by_placeholder("Search purpose").fill("figs")
    expect(rows).to_have_count(6)
    page.get_by_role("button", name="Callee", exact=True).click()
    rows.first.get_by_role("link").click()
    expect(page.get_by_role("heading", name="to ask about figs")).to_be_visible()
    page.get_by_role("link", name="Calls").first.click()
    expect(rows).to_have_count(6)
    expect(page.get_by_placeholder("Search purpose")).to_have_value("figs")
    expect(page.locator('th[aria-sort="ascending"]')).to_have_text("Callee")
    # A logout removes all of it.
    page.get_by_role("button", name="Log out").click()
    page.get_by_label("API key").fill(KEY)
    page.get_by_role("button", name="Log in").click()
    expect(rows).to_have_count(50)


def test_a_page_that_loads_too_late_is_not_shown(server, page):
    held = []
    page.route(re.compile(r"/api/outbound/\?|/api/outbound/$"), lambda route: held.append(route))
    page.get_by_role("link", name="Calls").first.click()
    wait_until(lambda: page.evaluate("true") and held)
    page.get_by_role("link", name="Templates").click()
    expect(page.get_by_role("heading", name="Templates")).to_be_visible()
    held[0].fallback()
    page.wait_for_timeout(500)
    assert page.locator("h1").all_inner_texts() == ["Templates"]
