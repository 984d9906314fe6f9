"""Companies in the dashboard: for the installation's admins alone, and nothing of them shows while there is one."""

import re

from conftest import KEY
from dashboard_pages import logged_in, problems
from playwright.sync_api import expect


def tabs(page):
    return page.locator(".tabs a")


def test_an_admin_manages_companies_and_acts_for_one(server, browser):
    page = logged_in(browser, server)
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(server.url + "/settings/keys")
    expect(tabs(page).get_by_text("Companies")).to_have_count(0)
    expect(page.locator('[data-part="company"]')).to_be_hidden()
    # The first one is made at the page's address.
    page.goto(server.url + "/settings/companies")
    page.get_by_role("button", name="Add", exact=True).click()
    page.locator('dialog [name="slug"]').fill("Acme")
    page.get_by_role("button", name="Save").click()
    expect(page.locator('dialog [data-error="slug"]')).not_to_be_empty()
    page.locator('dialog [name="slug"]').fill("acme")
    page.locator('dialog [name="name"]').fill("Acme Ltd.")
    page.locator('dialog [name="quotas.concurrent_calls"]').fill("3")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("dialog input[readonly]")).to_have_value(re.compile("^whsec_"))
    page.get_by_role("button", name="Done").click()
    row = page.locator("tbody tr", has_text="Acme Ltd.")
    expect(row).to_contain_text("Calls at once: 3")
    row.get_by_role("button", name="Edit").click()
    page.locator('dialog [name="quotas.concurrent_calls"]').fill("")
    page.locator('dialog [name="quotas.calls_per_day"]').fill("50")
    page.get_by_role("button", name="Save").click()
    expect(row).to_contain_text("Calls a day: 50")
    quotas = next(one for one in server.request("GET", "/api/companies")[1]["items"] if one["slug"] == "acme")["quotas"]
    assert quotas["concurrent_calls"] is None and quotas["calls_per_day"] == 50
    row.get_by_role("button", name="Use", exact=True).click()
    expect(page.locator("dialog .facts")).to_contain_text("Minutes")
    found = {"usage": problems(page)}
    page.keyboard.press("Escape")

    # Acting for it: its name stands in the head of every page, and what is made is its.
    page.reload()
    expect(tabs(page).get_by_text("Companies")).to_be_visible()
    expect(page.locator('[data-part="company"]')).to_have_text("default")
    row.get_by_role("button", name="Act for it").click()
    expect(page.get_by_text("You act for the company acme.")).to_be_visible()
    expect(page.locator('[data-part="company"]')).to_have_text("acme")
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    page.goto(server.url + "/settings/do-not-call")
    expect(tabs(page).get_by_text("Companies")).to_have_count(0)
    page.get_by_role("button", name="Add", exact=True).click()
    page.locator('dialog [name="number"]').fill("010-1234-5678")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    assert server.request("GET", "/api/do-not-call")[1]["items"] == []
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        found[scheme] = problems(page)
    for width in (390, 768, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert overflow <= 0, f"scrolls sideways by {overflow} px at {width}"
    page.get_by_role("button", name="Back to your own company").click()
    expect(page.locator('[data-part="company"]')).to_have_text("default")
    expect(page.locator('[data-part="acting"]')).to_be_hidden()

    page.goto(server.url + "/settings/companies")
    row.get_by_role("button", name="Suspend").click()
    page.locator("dialog").get_by_role("button", name="Suspend").click()
    expect(row).to_contain_text("suspended")
    found["companies"] = problems(page)
    row.get_by_role("button", name="Erase").click()
    page.locator("dialog").get_by_role("button", name="Erase").click()
    expect(row).to_have_count(0)
    assert {where: rules for where, rules in found.items() if rules} == {} and errors == []


def test_others_see_nothing_of_companies(server, browser):
    assert server.request("POST", "/api/companies", {"slug": "acme"})[0] == 201
    operator = server.request("POST", "/api/keys", {"name": "o", "role": "operator"})[1]["key"]
    page = browser.new_page()
    page.goto(server.url + "/login")
    page.get_by_label("API key").fill(operator)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.goto(server.url + "/settings/companies")
    expect(page.get_by_role("heading", name="Numbers")).to_be_visible()
    expect(tabs(page).get_by_text("Companies")).to_have_count(0)
    # A company that is gone is not acted for any longer.
    page = browser.new_page()
    page.goto(server.url + "/login")
    page.get_by_label("API key").fill(KEY)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.evaluate("sessionStorage.setItem('company', 'nobody')")
    page.reload()
    expect(page.locator('[data-part="company"]')).to_have_text("default")
    expect(page.locator('[data-part="acting"]')).to_be_hidden()
