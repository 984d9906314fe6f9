"""Pages of the dashboard: log in, take pictures, look for accessibility problems."""

import os
import pathlib
import time

import axe_playwright_python
from conftest import KEY
from playwright.sync_api import expect

SCREENSHOTS = os.environ.get("SCREENSHOTS")
AXE = (pathlib.Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
# The length that the waveform of 3 s tells, at each rate.
WAVES = """async (rates) => {
  const { waveform } = await import("/web/waveform.js");
  const lengths = [], real = window.fetch;
  for (const rate of rates) {
    const file = new DataView(new ArrayBuffer(44 + 3 * 4 * rate));
    file.setUint32(0, 0x52494646);
    file.setUint16(22, 2, true);
    file.setUint32(24, rate, true);
    file.setUint16(34, 16, true);
    const canvas = document.createElement("canvas");
    window.fetch = async () => new Response(file.buffer);
    const leave = await waveform(canvas, document.createElement("audio"), "/", []);
    leave();
    lengths.push(canvas.getAttribute("aria-label").match(/\\d:\\d\\d/)[0]);
  }
  window.fetch = real;
  return lengths;
}"""


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


def logged_in(browser, server, **options):
    page = browser.new_page(reduced_motion="reduce", **options)
    page.goto(server.url + "/login")
    page.get_by_label("API key").fill(KEY)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    return page


def problems(page):
    page.evaluate(AXE)
    result = page.evaluate(
        "() => axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'] })"
    )
    return [f"{rule['id']}: {rule['nodes'][0]['html'][:120]}" for rule in result["violations"]]


def until(page, expression, seconds=15):
    """Waits for something that an expression tells. `wait_for_function` asks again by eval, which the page forbids."""
    deadline = time.time() + seconds
    while not page.evaluate(expression):
        assert time.time() < deadline, expression
        time.sleep(0.1)
