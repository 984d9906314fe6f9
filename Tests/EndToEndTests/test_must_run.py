"""A tool that is missing must not make CI green."""

import os
import subprocess
import sys

import pytest
from conftest import ROOT

SUITE = """
import pytest

@pytest.mark.skipif(True, reason="the tool is not there")
def test_by_mark(): pass

def test_by_call(): pytest.skip("the tool is not there")

@pytest.mark.may_skip("needs a right")
@pytest.mark.skipif(True, reason="no right")
def test_that_may(): pass

@pytest.mark.xfail
def test_expected(): assert False

def test_good(): pass
"""


@pytest.mark.parametrize(
    "ci, outcome",
    # What a mark skips, is skipped before the test begins: an error is how pytest counts that.
    [("true", "1 failed, 1 passed, 1 skipped, 1 xfailed, 1 error"), ("", "1 passed, 3 skipped, 1 xfailed")],
)
def test_a_skip_is_a_failure_under_ci(tmp_path, ci, outcome):
    (tmp_path / "test_suite.py").write_text(SUITE)
    environment = {**os.environ, "CI": ci, "PYTHONPATH": str(ROOT / "Tests/EndToEndTests")}
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-W",
            "ignore",
            "-p",
            "must_run",
            "-p",
            "no:cacheprovider",
            str(tmp_path),
        ],
        env=environment,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    told = done.stdout.splitlines()[-1]
    assert told.startswith(outcome), done.stdout
    assert (done.returncode != 0) == bool(ci) == ("under CI no test may be skipped" in done.stdout)
