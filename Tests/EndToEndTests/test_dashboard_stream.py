"""A call of the dashboard's form whose conversation another server holds."""

import re

from conftest import ATTEND
from dashboard_pages import logged_in, shots
from playwright.sync_api import expect


def test_a_call_is_given_to_another_server(server, browser):
    """The form names a server, its dialect, headers and parameters; the call's page says who holds the conversation."""
    errors = []
    page = logged_in(browser, server)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(server.url + "/outbound")
    offered = page.locator("select[name=dialect] option")
    expect(page.locator("select[name=dialect] option[value=jambonz]")).to_be_attached()
    assert {"Twilio", "SignalWire", "jambonz", "Asterisk"} < set(offered.all_text_contents())

    page.goto(server.url + "/outbound/new")
    page.get_by_label("Callee").fill("sip:callee@127.0.0.1:9")
    page.get_by_label("Caller number shown").fill("02 555 0100")
    page.get_by_label("Purpose").fill("the dinner")
    page.get_by_label("Question", exact=True).fill(ATTEND)
    page.get_by_text("Advanced settings").click()
    page.get_by_label("Server that holds the conversation").fill("http://agent.example.com/media")
    page.get_by_label("Headers for that server").fill("Authorization: Bearer of:this-call\nUpgrade: x\n")
    page.get_by_label("Parameters for that server").fill("customer: 7")
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page.locator('[data-error="stream.url"]')).to_contain_text("wss:")
    expect(page.locator('[data-error="stream.headers"]')).not_to_be_empty()
    page.get_by_label("Server that holds the conversation").fill("wss://agent.example.com/media?v=1")
    page.get_by_label("Headers for that server").fill("Authorization: Bearer of:this-call")
    page.locator('select[name="stream.dialect"]').select_option(label="SignalWire")
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page).to_have_url(re.compile(r"/outbound/ob-[0-9a-f]{8}$"))
    facts = page.locator('[data-part="facts"]')
    expect(facts).to_contain_text("wss://agent.example.com/media (SignalWire)")
    expect(facts).to_contain_text("Authorization")
    expect(facts).to_contain_text("customer")
    assert "of:this-call" not in page.content() and errors == []
    assert server.call(page.url[-11:])["stream"] == {
        "url": "wss://agent.example.com/media",
        "dialect": "signalwire",
        "headers": ["Authorization"],
        "parameters": ["customer"],
    }
    shots(browser, server, streamed=page.url.removeprefix(server.url))
