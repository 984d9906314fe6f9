"""What the AI knows: kept, found, and answered from."""

import base64

import pytest
from conftest import ATTEND, mocks
from mock_speech import KEY, MockSpeech
from test_cascade import ANSWERED, END, GOODBYE, TALK

speech = mocks(MockSpeech)

HOURS = {"question": "When do you open on Sundays?", "answer": "On Sundays we open at noon."}
DOCUMENT = """# Parking

Guests may leave their car in the garage behind the house. It is free for four hours.

# Animals

A dog is welcome on the terrace.
"""


def add(server, **item):
    status, answer = server.request("POST", "/api/knowledge/", item)
    assert status == 201, answer
    return answer


def find(server, query):
    status, answer = server.request("POST", "/api/knowledge/search", {"query": query})
    assert status == 200, answer
    return answer["items"]


def test_knowledge_is_stored_found_and_removed(server):
    pair, document = add(server, **HOURS), add(server, title="House rules", text=DOCUMENT)
    assert pair["type"] == "qa" and document["chunks"] == 2
    assert [item["id"] for item in server.request("GET", "/api/knowledge/")[1]["items"]] == [document["id"], pair["id"]]
    best = find(server, "What time do you open on a Sunday, or on Sundays?")[0]
    assert best["source"] == HOURS["question"] and best["answer"] == HOURS["answer"]
    best = find(server, "Where can I leave my car?")[0]
    assert best["source"] == "House rules" and best["text"].startswith("Parking") and not best["answers_without_model"]
    assert find(server, "quantum chromodynamics") == []
    # Nothing a caller says is the search engine's own syntax.
    for query in ('"', "car AND", "NEAR(car)", "*", "title:car OR", "') --", "NOT"):
        find(server, query)
    assert server.request("DELETE", f"/api/knowledge/{pair['id']}")[0] == 204
    assert server.request("DELETE", f"/api/knowledge/{pair['id']}")[0] == 404
    assert not [hit for hit in find(server, HOURS["question"]) if hit["answer"]]


def test_knowledge_lies_in_sets(server):
    add(server, **HOURS)
    pair = add(server, set="clinic", question=HOURS["question"], answer="The clinic is closed.")
    document = add(server, set="clinic", title="House rules", text=DOCUMENT)
    assert pair["set"] == document["set"] == "clinic"
    assert server.request("GET", "/api/knowledge/sets")[1]["items"] == [
        {"name": "clinic", "items": 2},
        {"name": "default", "items": 1},
    ]
    listed = server.request("GET", "/api/knowledge/?set=clinic")[1]["items"]
    assert {item["id"] for item in listed} == {pair["id"], document["id"]}
    assert server.request("GET", "/api/knowledge/?set=nowhere")[1]["items"] == []
    body = {"query": HOURS["question"], "set": "clinic"}
    hits = server.request("POST", "/api/knowledge/search", body)[1]["items"]
    assert hits[0]["answer"] == "The clinic is closed." and HOURS["answer"] not in [hit["answer"] for hit in hits]
    assert len(find(server, HOURS["question"])) >= 2, "all sets, where none is named"
    for name in ("Clinic", "2nd", "a b", "x" * 41, "-a"):
        status, answer = server.request("POST", "/api/knowledge/", {**HOURS, "set": name})
        assert status == 422 and answer["errors"][0]["field"] == "set", answer


def test_a_call_without_an_agent_answers_from_the_set_default(make_server, callee, speech):
    question = "When do you open on Sundays?"
    mock = speech([{"text": "Hello. Will you come?"}, {}, TALK[1]], [question, "Yes, I will be there."])
    server = make_server(**mock.settings())
    add(server, set="clinic", question=question, answer="The clinic is closed.")
    add(server, **HOURS)
    call_id = server.create(callee("load").address, [ATTEND])
    server.wait_for(call_id, seconds=40)
    said = " ".join(entry["text"] for entry in server.result(call_id)["transcript"] if entry["speaker"] == "ai")
    assert HOURS["answer"] in said and "clinic" not in said


def test_korean_is_found_whatever_its_endings(server):
    add(server, question="주차장이 있나요?", answer="네, 건물 뒤에 주차장이 있습니다.")
    add(server, title="안내", text="반려견은 테라스에서만 함께하실 수 있습니다.")
    assert find(server, "주차장은 어디에 있어요?")[0]["answer"].startswith("네")
    assert find(server, "반려견도 괜찮아요?")[0]["source"] == "안내"


def test_pdf_and_markdown_are_read(server):
    pdf = b"""%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 100]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>endobj
4 0 obj<</Length 68>>stream
BT /F1 12 Tf 10 50 Td (The cloakroom is beside the entrance.) Tj ET
endstream endobj
5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj
trailer<</Root 1 0 R>>
"""
    add(server, title="Plan", content_type="application/pdf", content_base64=base64.b64encode(pdf).decode())
    add(
        server,
        title="Menu",
        content_type="text/markdown",
        content_base64=base64.b64encode("# Soups\n\nLeek soup is vegan.".encode()).decode(),
    )
    assert find(server, "Where is the cloakroom?")[0]["source"] == "Plan" and find(server, "Is the leek soup vegan?")[
        0
    ]["text"].startswith("Soups")


@pytest.mark.parametrize(
    "body, fields",
    [
        ({}, {"title", "content_type", "content_base64"}),
        ({"question": "x"}, {"answer"}),
        ({"question": "x", "answer": " "}, {"answer"}),
        ({"question": "x", "answer": "y", "text": "z"}, {"text"}),
        ({"title": "t", "text": "x" * 1_000_001}, {"text"}),
        ({"title": "t", "text": "x", "colour": 1}, {"colour"}),
        ({"title": 7, "text": "x"}, {"title"}),
        ({"title": "t", "content_type": "image/png", "content_base64": "AAAA"}, {"content_type"}),
        ({"title": "t", "content_type": "text/plain", "content_base64": "?"}, {"content_base64"}),
        (
            {"title": "t", "content_type": "text/plain", "content_base64": base64.b64encode(b"\xff\xfe\x00").decode()},
            {"content_base64"},
        ),
        (
            {
                "title": "t",
                "content_type": "application/pdf",
                "content_base64": base64.b64encode(b"%PDF-1.4 rubbish").decode(),
            },
            {"content_base64"},
        ),
    ],
)
@pytest.mark.shared
def test_bad_knowledge_is_refused_by_field(server, body, fields):
    status, answer = server.request("POST", "/api/knowledge/", body)
    assert status == 422 and {error["field"] for error in answer["errors"]} == fields, answer
    assert server.request("GET", "/api/knowledge/")[1]["items"] == []


def test_a_pair_answers_without_the_model(make_server, callee, speech):
    mock = speech(
        [
            {**TALK[0], "tools": [("report_task_state", {"asking": "q1", "purpose_stated": True})]},
            {"text": "unused"},
            {"text": GOODBYE, "tools": [ANSWERED, END]},
        ],
        ["When do you open on Sundays?", "Yes, I will be there."],
    )
    server = make_server(**mock.settings(TRUNKLINE_AGENT_TURN_SPECULATE="false"))
    add(server, **HOURS)
    call_id = server.create(callee("load").address, [ATTEND])
    assert server.wait_for(call_id, seconds=40)["end_reason"] == "task_completed"
    transcript = server.result(call_id)["transcript"]
    assert transcript[2]["text"] == HOURS["answer"] + " " + ATTEND and transcript[2]["sources"] == [
        HOURS["question"]
    ], transcript
    assert len(mock.chats) == 2, "the model was not asked"
    told = mock.chats[1]["messages"]
    assert [message["content"] for message in told if message["role"] == "assistant"][-1] == HOURS[
        "answer"
    ] + " " + ATTEND


def test_documents_are_told_to_the_model(make_server, callee, speech):
    mock = speech(
        [TALK[0], {"text": "Behind the house."}, {"text": GOODBYE, "tools": [ANSWERED, END]}],
        ["Where can I leave my car?", "Yes, I will be there."],
    )
    server = make_server(**mock.settings(TRUNKLINE_AGENT_TURN_SPECULATE="false"))
    add(server, title="House rules", text=DOCUMENT)
    call_id = server.create(callee("load").address, [ATTEND])
    assert server.wait_for(call_id, seconds=40)["end_reason"] == "task_completed"
    transcript = server.result(call_id)["transcript"]
    assert (
        transcript[2]["text"] == "Behind the house."
        and transcript[2]["sources"] == ["House rules"]
        and "sources" not in transcript[0]
    )
    known = [message["content"] for message in mock.chats[1]["messages"] if message["role"] == "system"]
    assert (
        any("garage behind the house" in text for text in known)
        and mock.chats[1]["messages"][-1]["content"] == "Where can I leave my car?"
    )


def test_meaning_is_found_by_vectors(make_server, speech):
    mock = speech()
    server = make_server(TRUNKLINE_KNOWLEDGE_EMBEDDINGS_URL=mock.http_url, OPENAI_API_KEY=KEY)
    add(server, title="House rules", text=DOCUMENT)
    assert find(server, "a vehicle")[0]["text"].startswith("Parking") and find(server, "my pet")[0]["text"].startswith(
        "Animals"
    )
    mock.faults["embeddings"] = "500"
    assert find(server, "Where is the garage?")[0]["text"].startswith("Parking"), "words alone are searched then"
    status, answer = server.request("POST", "/api/knowledge/", {"title": "t", "text": "x"})
    assert (
        status == 503
        and "nothing was stored" in answer["detail"]
        and len(server.request("GET", "/api/knowledge/")[1]["items"]) == 1
    )
