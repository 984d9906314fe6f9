"""Agents in the dashboard: the form, YAML, versions, what is in effect, calls that name one, and who may do what."""

import re

from conftest import ATTEND, KEY
from dashboard_pages import logged_in, problems, shots
from playwright.sync_api import expect

SALON = {
    "slug": "salon",
    "name": "Salon bookings",
    "language": "en",
    "variables": [{"name": "name", "required": True, "example": "Kim"}, {"name": "tier", "default": "none"}],
    "context": {
        "role": "You take bookings for a hair salon.",
        "safety_rules": ["Never name other customers."],
        "facts": ["Open from 9 to 18.", {"question": "Where are you?", "answer": "Opposite the station."}],
    },
    "purpose": "to book a visit for {{name}}",
    "first_message": "Good day, {{name}}.",
    "questions": [ATTEND, {"text": "Cut or colour?", "type": "choice", "choices": ["cut", "colour"]}],
    "limits": {"max_duration": 90},
}


def create(server, **changes):
    status, made = server.request("POST", "/api/agents", {**SALON, **changes})
    assert status == 201, made
    return made["slug"]


def watched(browser, server, **options):
    """A page, and the errors of its scripts."""
    page = logged_in(browser, server, **options)
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    return page, errors


def field(page, label):
    return page.get_by_label(label, exact=True)


def view(page, name):
    page.get_by_role("group", name="View").get_by_role("button", name=name, exact=True).click()


def test_an_agent_from_the_form_to_its_second_version(server, browser):
    page, errors = watched(browser, server)
    page.get_by_role("link", name="Agents").click()
    # The configuration is an agent too.
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody tr")).to_contain_text("default")
    page.get_by_role("link", name="New agent").click()
    page.get_by_role("button", name="Save and publish").click()
    expect(page.locator('[data-error="name"]')).to_have_text("This is required.")
    expect(page.locator('[data-error="slug"]')).to_have_text("This is required.")

    page.locator('[name="name"]').fill("Salon bookings")
    page.locator('[name="slug"]').fill("salon")
    page.locator('[name="purpose"]').fill("to book a visit for {{name}}")
    page.locator('[name="first_message"]').fill("Good day, {{nmae}}.")
    page.get_by_role("button", name="Add a rule").click()
    page.locator('[data-list="context.safety_rules"] [data-field="text"]').fill("Never name other customers.")
    page.locator('[data-list="questions"] [data-field="text"]').first.fill(ATTEND)
    page.get_by_role("button", name="Add a fact").click()
    page.locator('[data-list="context.facts"] [data-field="question"]').fill("Where are you?")
    page.get_by_role("button", name="Add a variable").click()
    page.locator('[data-list="variables"] [data-field="name"]').fill("name")
    page.locator('[data-list="variables"] [data-field="required"]').check()
    # Limits are the server's; what the configuration says stands in empty fields.
    assert page.locator('[name="purpose"]').get_attribute("maxlength") == "2000"
    finished = page.locator('[name="turns.finished_ms"]')
    configured = server.request("GET", "/api/agents/default/effective")[1]["turns.finished_ms"]["value"]
    assert [finished.get_attribute(name) for name in ("min", "max", "placeholder")] == ["100", "5000", str(configured)]
    expect(page.locator("label", has=finished)).to_contain_text("Empty: as configured.")
    # Every error stands beside its field; nothing is stored.
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.locator('[data-error="first_message"]')).to_contain_text("nmae")
    expect(page.locator('[data-list="context.facts"] [data-error-row]')).to_have_text("This is blank.")
    expect(page.get_by_role("heading", name="2 things are to be corrected.")).to_be_visible()
    assert len(server.request("GET", "/api/agents")[1]["items"]) == 1
    page.locator('[name="first_message"]').fill("Good day, {{name}}.")
    page.locator('[data-list="context.facts"] [data-field="answer"]').fill("Opposite the station.")
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.get_by_text("No mistakes were found.")).to_be_visible()
    page.get_by_role("button", name="Save and publish").click()
    expect(page).to_have_url(f"{server.url}/agents/salon")
    expect(page.get_by_text("salon · version 1 is live")).to_be_visible()
    stored = server.request("GET", "/api/agents/salon")[1]
    assert stored["context"] == {
        "safety_rules": ["Never name other customers."],
        "facts": [{"question": "Where are you?", "answer": "Opposite the station."}],
    }
    assert stored["variables"] == [{"name": "name", "required": True}] and stored["questions"] == [ATTEND]

    # A second version is a draft first; then it is live; then the first one is restored.
    page.locator('[name="first_message"]').fill("Hello, {{name}}!")
    page.get_by_placeholder("What has changed, and why").fill("warmer")
    page.get_by_role("button", name="Save as draft").click()
    expect(page.get_by_text("salon · version 1 is live, version 2 is a draft")).to_be_visible()
    view(page, "Versions")
    rows = page.locator(".versions > li")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("warmer")
    expect(rows.nth(1).get_by_text("live", exact=True)).to_be_visible()
    rows.first.get_by_role("button", name="Changes").click()
    expect(rows.first.locator(".changes li")).to_have_count(1)
    expect(rows.first.locator(".changes")).to_contain_text("First message")
    expect(rows.first.locator("del")).to_have_text("Good day, {{name}}.")
    expect(rows.first.locator("ins")).to_have_text("Hello, {{name}}!")
    rows.first.get_by_role("button", name="Publish").click()
    expect(page.get_by_text("salon · version 2 is live")).to_be_visible()
    rows.nth(1).get_by_role("button", name="Restore").click()
    expect(page.get_by_text("salon · version 1 is live, version 2 is a draft")).to_be_visible()
    assert server.request("GET", "/api/agents")[1]["items"][1]["live"] == 1
    view(page, "In effect")
    expect(page.locator(".effective tr", has_text="First message")).to_contain_text("this agent")
    expect(page.locator(".effective tr", has_text="Silence that ends a sentence")).to_contain_text("configuration")
    page.get_by_role("button", name="Archive").click()
    page.locator("dialog").get_by_role("button", name="Archive").click()
    expect(page).to_have_url(f"{server.url}/agents")
    expect(page.locator("tbody tr")).to_have_count(1)
    assert errors == []


def leaves(schema, prefix=""):
    """Paths of a schema's values: of a list and of an object with free names the path is its own."""
    for name, member in schema["properties"].items():
        path = prefix + name
        if "properties" in member:
            yield from leaves(member, path + ".")
        elif member.get("type") != "null":  # known, and not built yet
            yield path


def test_every_field_of_a_document_is_in_the_form(server, browser):
    """And no field of the form is unknown to the server. What there is only one choice of is not asked for."""
    page = logged_in(browser, server)
    shown = page.evaluate("import('/web/agent-fields.js').then(({ fields }) => fields.map(({ path }) => path))")
    assert len(shown) == len(set(shown))
    assert set(leaves(server.request("GET", "/api/schemas/agent.json")[1])) - {"flow.type"} == set(shown)


def test_an_agent_is_changed_as_yaml(server, browser):
    create(server)
    page, errors = watched(browser, server)
    page.goto(f"{server.url}/agents/salon")
    view(page, "YAML")
    text = field(page, "The document as YAML")
    expect(text).to_have_value(re.compile(r"^name: Salon bookings\nslug: salon\n"))
    text.fill(text.input_value().replace("Good day", "Good morning").replace("max_duration: 90", "max_duration: 9"))
    page.get_by_role("button", name="Save and publish").click()
    expect(page.locator(".summary")).to_contain_text("limits.max_duration")
    text.fill(text.input_value().replace("max_duration: 9", "max_duration: 120"))
    # What was written is the form's document too, and saved from there.
    view(page, "Form")
    expect(page.locator('[name="first_message"]')).to_have_value("Good morning, {{name}}.")
    expect(page.locator('[name="limits.max_duration"]')).to_have_value("120")
    page.get_by_role("button", name="Save and publish").click()
    expect(page.get_by_text("salon · version 2 is live")).to_be_visible()
    stored = server.request("GET", "/api/agents/salon")[1]
    assert stored == {**SALON, "first_message": "Good morning, {{name}}.", "limits": {"max_duration": 120}}
    # Text that is no YAML, and a document that somebody else has changed.
    view(page, "YAML")
    text.fill("name: [")
    page.get_by_role("button", name="Save and publish").click()
    expect(page.locator(".summary h2")).to_contain_text("YAML")
    server.request("PUT", "/api/agents/salon", SALON)
    text.fill("slug: salon\nname: Salon\npurpose: to book\n")
    page.get_by_role("button", name="Save and publish").click()
    expect(page.locator(".summary h2")).to_contain_text("changed meanwhile")
    assert errors == []


def test_what_was_not_saved_is_still_there(server, browser):
    create(server)
    page, errors = watched(browser, server)
    page.goto(f"{server.url}/agents/salon")
    page.locator('[name="purpose"]').fill("to ask for a visit")
    page.get_by_role("link", name="Overview").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.get_by_role("link", name="Agents").click()
    page.get_by_role("link", name="Salon bookings").click()
    expect(page.locator('[name="purpose"]')).to_have_value("to ask for a visit")
    expect(page.get_by_text("They are not saved yet.")).to_be_visible()
    view(page, "YAML")
    field(page, "The document as YAML").fill("name: Salon\n")
    page.get_by_role("link", name="Overview").click()
    page.get_by_role("link", name="Agents").click()
    page.get_by_role("link", name="Salon bookings").click()
    expect(field(page, "The document as YAML")).to_have_value("name: Salon\n")
    assert server.request("GET", "/api/agents/salon")[1]["purpose"] == SALON["purpose"] and errors == []


def test_a_call_names_an_agent(server, callee, browser):
    """The form of a call asks for the agent's variables and needs neither purpose nor questions; the call's page says
    which version it began with, also after an edit."""
    create(server)
    page, errors = watched(browser, server)
    page.goto(server.url + "/outbound/new")
    page.locator('select[name="agent"]').select_option(label="Salon bookings")
    expect(page.get_by_text("Version 1 asks 2 questions.")).to_be_visible()
    expect(page.locator('[name="variables.tier"]')).to_have_attribute("placeholder", "none")
    page.get_by_label("Callee").fill(callee("cooperative").address)
    page.get_by_label("Caller number shown").fill("02 555 0100")
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page.locator('[data-error="variables.name"]')).to_contain_text("is required")
    page.locator('[name="variables.name"]').fill("Mr. Kim")
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page).to_have_url(re.compile(r"/outbound/ob-[0-9a-f]{8}$"))
    call = server.call(page.url[-11:])
    assert call["agent"] == {"slug": "salon", "version": 1} and call["purpose"] == "to book a visit for Mr. Kim"
    assert [one["text"] for one in call["questions"]] == [ATTEND, "Cut or colour?"]
    server.request("PUT", "/api/agents/salon", {**SALON, "first_message": "Hello."})
    link = page.locator('[data-part="facts"]').get_by_role("link", name="salon, version 1")
    expect(link).to_be_visible()
    assert server.call(page.url[-11:])["agent"]["version"] == 1
    link.click()
    expect(page.get_by_text("salon · version 2 is live")).to_be_visible()
    assert errors == []


def test_a_number_names_an_agent(server, browser):
    # A call that comes in brings no values for variables.
    create(server, variables=[], purpose="to book a visit", first_message="Good day.")
    page, errors = watched(browser, server)
    page.goto(server.url + "/settings/numbers")
    page.get_by_role("button", name="Add", exact=True).click()
    page.locator('dialog [name="number"]').fill("02 555 0100")
    page.locator('dialog [name="agent"]').select_option(label="Salon bookings")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("tbody tr").get_by_role("link", name="salon")).to_be_visible()
    # It cannot be archived while the number names it.
    page.locator("tbody tr").get_by_role("link", name="salon").click()
    page.get_by_role("button", name="Archive").click()
    page.locator("dialog").get_by_role("button", name="Archive").click()
    expect(page.locator(".summary h2")).to_contain_text("name the agent")
    page.get_by_role("link", name="Agents").first.click()
    expect(page.locator("tbody tr", has_text="salon")).to_contain_text("1 numbers")
    assert errors == []


def test_viewers_see_agents_and_change_nothing(server, browser):
    create(server)
    viewer = server.request("POST", "/api/keys", {"name": "v", "role": "viewer"})[1]["key"]
    page = browser.new_page()
    page.goto(server.url + "/login")
    page.get_by_label("API key").fill(viewer)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("link", name="Agents").click()
    expect(page.get_by_role("link", name="New agent")).to_have_count(0)
    page.get_by_role("link", name="Salon bookings").click()
    expect(page.locator('[name="purpose"]')).to_be_disabled()
    for name in ("Save and publish", "Archive", "Talk"):
        expect(page.get_by_role("button", name=name)).to_be_hidden()
    # Nobody changes the configuration here.
    page.goto(server.url + "/agents/default")
    expect(page.get_by_text("The configuration: change it there.")).to_be_visible()


def test_pages_of_agents_are_accessible_and_fit(server, browser):
    create(server)
    server.request("PUT", "/api/agents/salon?note=longer", {**SALON, "first_message": "Hello, {{name}}!"})
    page, errors = watched(browser, server)
    found = {}
    for path in ("/agents", "/new-agent", "/agents/salon", "/agents/default", "/outbound/new"):
        page.goto(server.url + path)
        page.wait_for_selector("h1")
        page.wait_for_timeout(300)
        for scheme in ("dark", "light"):
            page.emulate_media(color_scheme=scheme)
            found[path, scheme] = problems(page)
    page.goto(server.url + "/agents/salon")
    for name in ("YAML", "Versions", "In effect"):
        view(page, name)
        page.wait_for_timeout(300)
        if name == "Versions":
            page.get_by_role("button", name="Changes").first.click()
            expect(page.locator(".changes li").first).to_be_visible()
        found[name] = problems(page)
        for width in (390, 768, 1440):
            page.set_viewport_size({"width": width, "height": 900})
            overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert overflow <= 0, f"{name} scrolls sideways by {overflow} px at {width}"
    assert {where: rules for where, rules in found.items() if rules} == {} and errors == []
    shots(browser, server, agents="/agents", agent="/agents/salon", new_agent="/new-agent")


def test_agents_in_korean(server, browser):
    korean = {"name": "예약", "purpose": "예약", "first_message": "안녕하세요", "questions": ["언제요?"]}
    create(server, **korean, context={}, variables=[])
    context = browser.new_context(locale="ko-KR", viewport={"width": 390, "height": 800})
    page = context.new_page()
    page.goto(server.url + "/login")
    page.fill('input[name="api_key"]', KEY)
    page.get_by_role("button", name="로그인").click()
    expect(page.get_by_role("heading", name="현황")).to_be_visible()
    for path in ("/agents", "/new-agent", "/agents/salon"):
        page.goto(server.url + path)
        page.wait_for_selector("h1")
        page.wait_for_timeout(300)
        # Names of providers are the same in every language.
        page.evaluate("document.querySelectorAll('[name$=provider]').forEach((one) => one.length = 1)")
        english = [
            line
            for line in page.locator("body").inner_text().splitlines()
            if re.search(r"[A-Za-z]{4,}", line)
            and not re.search(r"[가-힣]|Trunkline|English|^salon$|^default$|^Default$|^[a-z]+(_[a-z]+)+$", line)
        ]
        assert english == [], (path, english)
    page.get_by_role("button", name="저장 후 게시").click()
    page.goto(server.url + "/new-agent")
    page.get_by_role("button", name="검사", exact=True).click()
    expect(page.locator('[data-error="name"]')).to_have_text("확인하세요: 필수 항목입니다.")
    context.close()


def test_an_agent_is_tried_by_text(server, browser):
    create(server)
    page, errors = watched(browser, server)
    page.goto(f"{server.url}/agents/salon")
    page.get_by_role("button", name="By text").click()
    expect(page.locator('[data-part="try"] [data-error="variables.name"]')).to_contain_text("required")
    page.locator('[name="variables.name"]').fill("Mr. Kim")
    page.get_by_role("button", name="By text").click()
    lines = page.locator(".trial li")
    expect(lines.first).to_contain_text("Mr. Kim")
    page.get_by_label("Your words or keys").fill("Yes, I will.")
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".trial-answers li")).to_have_text(re.compile(f"{re.escape(ATTEND)}.*[Yy]es"))
    expect(lines.last).to_contain_text("Cut or colour?")
    page.get_by_label("Your words or keys").fill("Colour, please.")
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".trial-answers li")).to_have_count(2)
    expect(page.get_by_text("The conversation is over: everything asked.")).to_be_visible()
    expect(page.get_by_label("Your words or keys")).to_be_hidden()
    assert problems(page) == [] and errors == []
