"""Use of the dashboard by everyone: languages, roles, keyboard and screen readers."""

import html.parser
import re

from conftest import ATTEND, KEY, ROOT
from dashboard_pages import problems
from playwright.sync_api import expect


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
    used -= {"wss://agent.example.com/media", "Authorization: Bearer …", "customer: 7"}  # examples of what to enter
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


def test_viewers_are_offered_no_actions(server, browser):
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


def test_the_dashboard_can_be_used_in_korean(server, browser):
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
        # Names of carriers are the same in every language.
        page.evaluate("document.querySelectorAll('[name=carrier], [name=dialect]').forEach((one) => one.length = 1)")
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
    # So is what it would warn of.
    page.get_by_text("고급 설정").click()
    chosen, note = page.locator('form [name="language"]'), page.locator('label:has([name="language"]) [role="status"]')
    for language, words in (("ko", "(ko)를 알아듣는 음성 인식이 없습니다"), ("en", ""), ("ru", "(ru)를")):
        chosen.select_option(language)
        expect(note).to_contain_text(words) if words else expect(note).to_have_text("")
    page.locator("select.language").select_option("en")
    expect(page.get_by_role("link", name="Overview")).to_be_visible()
    page.reload()
    assert page.evaluate("document.documentElement.lang") == "en", "the choice is kept"
    context.close()


def test_pages_have_no_accessibility_problems(server, browser, callee):
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
