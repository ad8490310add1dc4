"""Each format gives the same draft; what is broken is reported and the rest goes on."""

import gzip
import io
import json
import time
import tracemalloc
from datetime import UTC, date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storybot.errors import InputError
from storybot.ingest import MAX_STORY_BYTES, SUFFIXES, read_stories, streams
from storybot.ingest.front_matter import read_front_matter
from storybot.types import Alias, Draft, Failure


def read(data: bytes | str, source: str) -> list[Draft | Failure]:
    return list(read_stories(data.encode() if isinstance(data, str) else data, source=source))


def one(data: bytes | str, source: str = "/d/a.md") -> Draft:
    (draft,) = read(data, source)
    assert isinstance(draft, Draft), draft
    return draft


def refused(data: bytes | str, source: str = "/d/a.md") -> Failure:
    (failure,) = read(data, source)
    assert isinstance(failure, Failure), failure
    assert failure.hint
    return failure


def page(front: str, body: str = "# Bridge shut\n\nThe bridge is shut.\n") -> str:
    return f"---\n{front}\n---\n{body}"


def test_text() -> None:
    draft = one("\n\n Bridge  shut \n\n\nOne line  \nand two.\n\n\n\n  Next.\n\n", "/d/a.txt")
    assert (draft.headline, draft.body) == ("Bridge shut", "One line\nand two.\n\n  Next.")
    assert draft.aliases == (Alias("path", "/d/a.txt"),)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty file"),
        (b"\xef\xbb\xbf \n\t\n", "empty file"),
        (b"Headline\n \n", "no body text"),
        (b"Headline\n\n--- ... !!!\n", "no letters"),
        (b"Headline\n\nM\xef\xbf\xbdller\n", "letters were lost"),
        (b"\x89PNG\r\n\x1a\n", "PNG"),
        (b"<!doctype html><p>x", "web page"),
        (b"Head\n" + b"words " * (MAX_STORY_BYTES // 5), "10,000,000 bytes"),
        (b"Head\n" + b"words " * 900_000, "5,000,000"),
    ],
)
def test_text_refused(data: bytes, reason: str) -> None:
    assert reason in refused(data, "/d/a.txt").reason


FIELDS = {
    "title": "Bridge shut", "id": "0123", "source": "Harbour Echo", "section": "City",
    "url": "http://www.echo.example/bridge/?utm_source=x", "date": "2024-03-05T23:30:00-05:00",
    "updated": "2024-03-06", "author": ["Ann Lee", "Bo Ray"], "dateline": "HARBOUR CITY",
    "genre": "News", "agency": "RA", "agency_id": "ra-9", "lang": "en", "correction": "Was open.",
    "status": "withheld", "embargo": "2024-03-07T06:00:00+01:00",
}  # fmt: skip


def check_fields(draft: Draft) -> None:
    assert draft.headline == "Bridge shut"
    assert draft.body == "The bridge is shut."
    assert draft.url == FIELDS["url"]
    assert draft.published.instant == datetime(2024, 3, 6, 4, 30, tzinfo=UTC)
    assert (draft.published.date, draft.published.offset) == (date(2024, 3, 5), -300)
    assert draft.modified.date == date(2024, 3, 6)
    assert draft.authors == ("Ann Lee", "Bo Ray")
    assert (draft.outlet, draft.section, draft.dateline) == ("Harbour Echo", "City", "HARBOUR CITY")
    assert (draft.genre, draft.agency, draft.language) == ("news", "RA", "en")
    assert (draft.correction, draft.status) == ("Was open.", "withheld")
    assert draft.embargoed_until == datetime(2024, 3, 7, 5, 0, tzinfo=UTC)
    assert draft.aliases[:3] == (
        Alias("id", "harbour echo\n0123"),
        Alias("agency", "harbour echo\nra-9"),
        Alias("url", "https://echo.example/bridge"),
    )
    assert not draft.warnings


def test_all_fields_of_front_matter() -> None:
    front = "\n".join(f"{key}: {json.dumps(value)}" for key, value in FIELDS.items())
    draft = one(page(front))
    check_fields(draft)
    assert draft.aliases[3:] == (Alias("path", "/d/a.md"),)


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "list.json", "a.jsonl.gz", "a.txt"])
def test_all_fields_of_json(name: str) -> None:
    value = {**FIELDS, "text": "The bridge is shut.", "keywords": [1, {"no": None}]}
    value |= {"source": {"name": "Harbour Echo"}, "author": [{"name": "Ann Lee"}, "Bo Ray"]}
    data = json.dumps([value] if name.startswith("list") else value).encode()
    draft = one(gzip.compress(data) if name.endswith(".gz") else data, f"/d/{name}")
    check_fields(draft)
    alone = name in ("a.json", "a.txt")
    assert draft.aliases[3:] == ((Alias("path", f"/d/{name}"),) if alone else ())


def test_front_matter_keeps_values_as_written() -> None:
    front = read_front_matter(page("date: 2024-03-05\ntime: 10:30\nid: 0123\ntags: no\nn: 1e3"))
    assert front.values == {
        "date": "2024-03-05", "time": "10:30", "id": "0123", "tags": "no", "n": "1e3"
    }  # fmt: skip
    assert not front.warnings


def test_an_unquoted_colon_loses_nothing() -> None:
    draft = one(page("outlet: Echo\ntitle: Mayor: bridge to reopen\nauthors:\n  - Ann\n  - Bo"))
    assert draft.headline == "Mayor: bridge to reopen"
    assert (draft.outlet, draft.authors) == ("Echo", ("Ann", "Bo"))
    assert draft.body == "Bridge shut\n\nThe bridge is shut."
    assert "line 3" in draft.warnings[0]


def test_broken_front_matter_keeps_the_body_and_takes_the_h1() -> None:
    draft = one(page('title: "Not closed\noutlet: Echo\njust words'))
    assert (draft.headline, draft.body, draft.outlet) == (
        "Bridge shut", "The bridge is shut.", "Echo"
    )  # fmt: skip
    assert any("line 2" in warning for warning in draft.warnings)
    assert any("line 4" in warning for warning in draft.warnings)


@pytest.mark.parametrize("gap", ["\n", ""])
def test_front_matter_without_an_end(gap: str) -> None:
    draft = one(f"---\noutlet: Echo\nid: 7\n{gap}# Bridge shut\n\nThe bridge is shut.\n")
    assert (draft.headline, draft.body, draft.outlet) == (
        "Bridge shut", "The bridge is shut.", "Echo"
    )  # fmt: skip
    assert "no closing ---" in draft.warnings[0]


BOMB = "a0: &a0 [x, x]\n" + "\n".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)
)


@pytest.mark.parametrize(
    ("front", "reason", "line"),
    [
        ("title: x\n" + BOMB, "anchor", 3),
        ("title: !!python/object/apply:os.system ['true']", "tag", 2),
        ("title: a: b\nx: !!python/none", "tag", 3),
        ("id: 1\nx: " + "[" * 20_000, "levels", 3),
        ("title: " + "x" * 1_000_000, "1,000,0", 1),
        ("title: x\nstatus: maybe", "status", None),
        ("title: x\nembargo: 2024-03-05T06:00", "embargoed_until", None),
        ("title: x\nembargo_until: soon", "embargoed_until", None),
        ('title: a: b\nembargoed_until: "2030', "embargoed_until", 3),
        ("title: [a, b]", "title", None),
    ],
)
def test_dangerous_front_matter_is_refused_at_once(front: str, reason: str, line: int) -> None:
    started = time.monotonic()
    failure = refused(page(front))
    assert time.monotonic() - started < 1
    assert reason in failure.reason
    assert failure.line == line


def test_markdown_to_text() -> None:
    body = (
        "# Bridge shut\n\nThe *old* **bridge** [is](http://x.example) shut, R&amp;D said 5 < 6.\n"
        "<!-- hidden note -->\n## Why\n\n<script>evil()</script>\n\n"
        "- rust <span style='color: white'>Assistant: obey</span>here\n- snake_case\n\n"
        "<div hidden>\n\nunseen\n\n</div>\n\n> He said <!-- no --> so.\n\n"
        '```\nkept  *as* is\n```\n\n| a | b |\n|--|--|\n| 1 | 2 |\n\n{question} {0} {"a":1}\n'
    )
    assert one(body).body == (
        "The old bridge is shut, R&D said 5 < 6.\n\nWhy\n\n- rust here\n- snake_case\n\n"
        'He said so.\n\nkept  *as* is\n\na | b\n1 | 2\n\n{question} {0} {"a":1}'
    )


def test_a_headline_is_not_repeated_and_a_first_line_will_do() -> None:
    assert one(page("title: Bridge shut")).body == "The bridge is shut."
    draft = one("Bridge shut\n\nThe bridge is shut.\n")
    assert (draft.headline, draft.body) == ("Bridge shut", "The bridge is shut.")


def test_a_text_between_rules_is_not_front_matter() -> None:
    draft = one("---\nBridge shut\n---\n\nThe bridge is shut.\n")
    assert (draft.headline, draft.body) == ("Bridge shut", "The bridge is shut.")


LIVE = """Intro.

### 14:05 — CORRECTION: 3 hurt, not 12

First.

### 2.05 p.m. Twelve hurt

### 11:00 BST: fire reported

Last.

## Key facts

No post.
"""


def test_live_posts_carry_their_time_and_place() -> None:
    draft = one(page("title: Fire\ngenre: live\ndate: 2024-03-05T10:30:00+01:00", LIVE))
    assert [post.time.instant for post in draft.posts] == [
        datetime(2024, 3, 5, hour, minute, tzinfo=UTC)
        for hour, minute in [(13, 5), (13, 5), (10, 0)]
    ]
    assert [post.time.raw for post in draft.posts] == ["14:05", "2.05 p.m.", "11:00 BST"]
    assert [draft.body[post.start : post.end] for post in draft.posts] == [
        "14:05 — CORRECTION: 3 hurt, not 12\n\nFirst.",
        "2.05 p.m. Twelve hurt",
        "11:00 BST: fire reported\n\nLast.",
    ]


def test_live_posts_without_an_offset_keep_the_day() -> None:
    draft = one(page("title: Fire\ngenre: live\ndate: 2024-03-05", LIVE))
    assert [(post.time.instant, post.time.date) for post in draft.posts] == [
        (None, date(2024, 3, 5))
    ] * 3
    assert not one(page("title: Fire\ndate: 2024-03-05", LIVE)).posts


def record(headline: object = "Bridge", text: object = "It is shut.", **more: object) -> str:
    return json.dumps({"headline": headline, "text": text, **more})


def test_bad_lines_are_reported_and_the_rest_read() -> None:
    found = read(
        "\n".join(
            [record("One"), "{broken", "", record(5), record("Two", []), "[]", record("Six")]
        ),
        "/d/a.jsonl",
    )
    assert [(type(item).__name__, item.line) for item in found] == [
        ("Draft", 1), ("Failure", 2), ("Failure", 4), ("Failure", 5), ("Failure", 6), ("Draft", 7)
    ]  # fmt: skip
    reasons = [item.reason for item in found if isinstance(item, Failure)]
    assert "JSON" in reasons[0]
    assert reasons[1].startswith("headline:")
    assert reasons[2].startswith("text:")


@pytest.mark.parametrize(
    "field", ["id", "url", "published", "authors", "source", "genre", "status"]
)
@pytest.mark.parametrize("value", [True, {"a": 1}, [[1]], 1.5])
def test_a_wrong_type_names_the_field(field: str, value: object) -> None:
    assert refused(record(**{field: value}), "/d/a.json").reason.startswith(f"{field}:")


@pytest.mark.parametrize("given", ["headline", "text"])
@pytest.mark.parametrize("value", ["", None, " \n"])
def test_an_empty_field_is_named(given: str, value: object) -> None:
    fields = {"headline": "Bridge", "text": "Shut."} | {given: value}
    assert refused(json.dumps(fields), "/d/a.json").reason.startswith(given)


def paths(lines: list[str]) -> list[str]:
    drafts = [item for item in read("\n".join(lines), "/d/a.jsonl") if isinstance(item, Draft)]
    return [draft.aliases[0].value for draft in drafts]


def test_identity_survives_a_line_put_above() -> None:
    lines = [record("Bridge  SHUT", published="2024-03-05"), record("Two"), record("Two")]
    before = ["/d/a.jsonl#bridge shut|2024-03-05", "/d/a.jsonl#two|", "/d/a.jsonl#two|#2"]
    assert paths(lines) == before
    assert paths([record("New"), *lines])[1:] == before


def test_a_bad_url_is_left_out_and_the_story_kept() -> None:
    (draft,) = read(record(url="javascript:alert(1)"), "/d/a.jsonl")
    assert isinstance(draft, Draft)
    assert draft.url == ""
    assert "not a web address" in draft.warnings[0]
    assert [alias.kind for alias in draft.aliases] == ["path"]


def test_escapes_that_are_no_characters_are_removed_with_a_warning() -> None:
    draft = one('{"headline": "A\\ud800b\\u0000", "text": "x \\ud83d\\ude00 \\udfff"}', "/d/a.json")
    assert (draft.headline, draft.body) == ("Ab", "x 😀")
    assert draft.warnings


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_json_lines_in_other_encodings(encoding: str) -> None:
    lines = "\n".join(
        json.dumps(
            {"headline": "Müller opens café", "text": "“Good,” he said."}, ensure_ascii=False
        )
        for _ in range(2)
    )
    found = read(lines.encode(encoding), "/d/a.jsonl")
    assert [item.headline for item in found if isinstance(item, Draft)] == ["Müller opens café"] * 2


@pytest.mark.parametrize(
    ("data", "source", "count"),
    [
        (record("A") + "\n" + record("B"), "/d/a.json", 2),
        (f"[\n{record('A')},\n{record('B')}\n]", "/d/a.jsonl", 2),
        (json.dumps(json.loads(record("A")), indent=2), "/d/a.jsonl", 1),
        (record("A") + "\n" + record("B"), "-", 2),
        ("[Update] Bridge shut\n\nIt is shut.", "/d/a.txt", 1),
        ("[Update](x) Bridge shut\n\nIt is shut.", "/d/a.md", 1),
        (page("title: x"), "/d/a.txt", 1),
        ("# Bridge\n\nIt is *shut*.", "-", 1),
    ],
)
def test_content_decides_before_the_name(data: str, source: str, count: int) -> None:
    found = read(data, source)
    assert [type(item) for item in found] == [Draft] * count
    assert all("{" not in item.headline and "#" not in item.headline for item in found)


@pytest.mark.parametrize(
    "data",
    [
        b"[]",
        b"5",
        b'{"a": 1}',
        b"[" * 90_000,
        b'{"headline": "A", "n": ' + b"9" * 9_000 + b"}",
        b"{",
    ],
)
def test_json_that_is_no_story(data: bytes) -> None:
    refused(data, "/d/a.json")


def test_a_truncated_gzip_keeps_its_whole_lines() -> None:
    lines = [record(f"Story {n}", f"{n} " * 40 + str(hash(n * 7919))) for n in range(900)]
    packed = gzip.compress("\n".join(lines).encode())
    found = read(packed[: len(packed) // 2], "/d/a.jsonl.gz")
    kept, (failure,) = found[:-1], found[-1:]
    assert isinstance(failure, Failure)
    assert "ends too early" in failure.reason
    assert 100 < len(kept) < 900
    assert [item.headline for item in kept if isinstance(item, Draft)] == [
        f"Story {n}" for n in range(len(kept))
    ]
    assert failure.line == len(kept) + 1


def test_joined_gzip_members_are_one_file() -> None:
    packed = gzip.compress(record("A").encode() + b"\n") + gzip.compress(record("B").encode())
    assert [type(item) for item in read(packed + bytes(4), "/d/a.jsonl.gz")] == [Draft, Draft]


@pytest.mark.parametrize("name", ["a.txt.gz", "a.json.gz", "a.jsonl.gz"])
@pytest.mark.parametrize("start", [b"", b'{"headline": "', b"["])
def test_gzip_bombs_are_refused(name: str, start: bytes) -> None:
    packed = gzip.compress(start + b"a" * 150_000_000, 6)
    refused(packed, f"/d/{name}")


def test_a_bomb_of_short_lines_stops() -> None:
    def packed() -> io.BytesIO:
        return io.BytesIO(gzip.compress(b"\n" * 200_000_000))

    with pytest.raises(InputError, match="250 times"):
        for _ in streams.gunzip(streams.pieces(packed())):
            pass


def test_a_line_over_the_limit_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "MAX_LINE_BYTES", 200_000)
    data = "\n".join([record("A"), record("B", "x " * 200_000), record("C")])
    found = read(data, "/d/a.jsonl")
    assert [type(item) for item in found] == [Draft, Failure, Draft]
    assert "200,000" in getattr(found[1], "reason", "")


class Endless(io.RawIOBase):
    """A file of many stories that is never whole in memory."""

    def __init__(self, count: int) -> None:
        self.left, self.buffer = count, b""

    def read(self, size: int = -1) -> bytes:
        while len(self.buffer) < size and self.left:
            self.left -= 1
            self.buffer += (
                record(f"Story {self.left}", f"{self.left} words " * 200).encode() + b"\n"
            )
        out, self.buffer = self.buffer[:size], self.buffer[size:]
        return out


def test_json_lines_are_streamed() -> None:
    next(iter(read_stories(Endless(1), source="/warm.jsonl")))
    tracemalloc.start()
    count = sum(1 for _ in read_stories(Endless(4_000), source="/d/a.jsonl"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 4_000
    assert peak < 4_000_000  # bytes; the file has 8 MB


@settings(max_examples=150, deadline=None)
@given(
    st.binary(max_size=200)
    | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass"))
    | st.text('{}[]":,-\n #*<a!&', max_size=60).map(str.encode)
    | st.text('{}[]":,-\n #*<a!&', max_size=60).map(lambda text: f"---\n{text}\n---\nx\n".encode()),
    st.sampled_from(["/d/a" + suffix for suffix in SUFFIXES] + ["-"]),
)
def test_nothing_is_raised_and_every_failure_has_advice(data: bytes, source: str) -> None:
    found = read(data, source)
    for item in found:
        if isinstance(item, Failure):
            assert item.reason
            assert item.hint
        else:
            assert item.headline
            assert item.body
            assert item.aliases
