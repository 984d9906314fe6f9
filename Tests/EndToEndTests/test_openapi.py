"""The server against its own description, by `schemathesis`: it sends what the document allows, and what it forbids."""

import os
import re
import subprocess

import pytest

from conftest import KEY, ROOT, clean_environment

ST = ROOT / ".build/test-venv/bin/schemathesis"


def test_the_server_does_what_its_document_says(make_server):
    server = make_server(
        TRUNKLINE_OUTBOUND_ENABLED="false",
        TRUNKLINE_SECURITY_RATE_LIMIT_PER_SECOND="100000",
        TRUNKLINE_SECURITY_RATE_LIMIT_BURST="100000",
    )
    checks = (
        "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
        "response_schema_conformance,negative_data_rejection,missing_required_header,"
        "allow_header_conformance,use_after_free,ignored_auth"
    )
    done = subprocess.run(
        [
            ST,
            "run",
            server.url + "/openapi.json",
            "-H",
            f"Authorization: Bearer {KEY}",
            "--checks",
            checks,
            "-n",
            "10",
            "--phases",
            "coverage,fuzzing",
            "--exclude-path",
            "/api/session",
            "--continue-on-failure",
            "--no-color",
            "--warnings",
            "off",
            "--seed",
            "7",
        ],
        cwd=server.folder,
        env={
            **clean_environment(),
            "SCHEMATHESIS_HOOKS": "schemathesis_hooks",
            "PYTHONPATH": os.path.dirname(__file__),
        },
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-1000:]
    assert re.search(r"Tested: (\d{3}|[789]\d)", done.stdout), done.stdout[-1500:]
    assert server.process.poll() is None


@pytest.mark.shared
def test_the_document_and_its_page_need_a_key(server):
    assert (
        server.request("GET", "/openapi.json", key=None)[0] == 401
        and server.request("GET", "/docs", key=None)[0] == 401
    )
    status, page = server.request("GET", "/docs")
    assert status == 200 and "POST /api/outbound" in page and "<script" not in page
    document = server.request("GET", "/openapi.json")[1]
    assert document["openapi"] == "3.1.0" and "Idempotency-Key" in str(
        document["paths"]["/api/outbound"]["post"]["parameters"]
    )
