"""Under CI (`CI=true`) a test that is skipped has failed: `scripts/setup --test` installs what tests need, and the
torture messages lie beside the checkout. A test that needs a right which no package gives is marked `may_skip`, with
its reason."""

import os

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if os.environ.get("CI") != "true" or not report.skipped or hasattr(report, "wasxfail"):
        return report
    if item.get_closest_marker("may_skip"):
        return report
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
    report.outcome, report.longrepr = "failed", f"under CI no test may be skipped. {reason}"
    return report
