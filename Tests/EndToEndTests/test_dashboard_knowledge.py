"""Knowledge sets in the dashboard."""

from dashboard_pages import logged_in, problems
from playwright.sync_api import expect


def test_knowledge_is_put_into_sets(server, browser):
    page = logged_in(browser, server)
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(server.url + "/settings/knowledge")
    for name, answer in (("salon", "From 9 to 18."), ("", "In Seoul.")):
        page.get_by_role("button", name="Add", exact=True).click()
        page.locator('dialog [name="question"]').fill(f"What of {name or 'all'}?")
        page.locator('dialog [name="answer"]').fill(answer)
        page.locator('dialog [name="set"]').fill(name)
        page.get_by_role("button", name="Save").click()
        expect(page.locator("tbody tr", has_text=answer)).to_contain_text(name or "default")
    page.get_by_role("button", name="Add", exact=True).click()
    page.locator('dialog [name="question"]').fill("Why?")
    page.locator('dialog [name="answer"]').fill("Because.")
    page.locator('dialog [name="set"]').fill("No Name")
    page.get_by_role("button", name="Save").click()
    expect(page.locator('dialog [data-error="set"]')).not_to_be_empty()
    page.get_by_role("button", name="Cancel").click()
    chosen = page.locator('select[name="choice"]')
    expect(chosen.locator("option")).to_have_text(["All sets", "default (1)", "salon (1)"])
    chosen.select_option("salon")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody tr")).to_contain_text("From 9 to 18.")
    # A document is put into the set that is shown.
    with page.expect_file_chooser() as files:
        page.get_by_role("button", name="Add documents").click()
    files.value.set_files({"name": "prices.txt", "mimeType": "text/plain", "buffer": b"A cut costs 30 euros."})
    expect(page.locator("tbody tr")).to_have_count(2)
    expect(chosen.locator("option")).to_have_text(["All sets", "default (1)", "salon (2)"])
    assert problems(page) == [] and errors == []
