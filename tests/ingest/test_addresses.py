"""Links to one page share one address; links to two pages do not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storybot.errors import InputError
from storybot.ingest.addresses import canonical_url

PAGE = "https://example.com/news/bridge"


@pytest.mark.parametrize(
    "url",
    [
        PAGE,
        "http://example.com/news/bridge/",
        "HTTPS://EXAMPLE.com:443/news/bridge#comments",
        "http://example.com:80//news/bridge",
        "https://www.example.com/news/bridge?utm_source=x&UTM_Medium=y&fbclid=1&gclid=2",
        "https://amp.example.com/news/bridge",
        "https://example.com/news/bridge/amp/",
        "https://example.com/news/bridge.amp?amp=1",
        "https://user:secret@example.com/news/%62ridge",
        "  https://example.com./news/bridge  ",
    ],
)
def test_one_page(url: str) -> None:
    assert canonical_url(url) == PAGE


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.com/?b=2&a=1&b=1", "https://example.com?a=1&b=1&b=2"),
        ("https://example.com/?id=", "https://example.com?id="),
        ("https://example.com:8443/A", "https://example.com:8443/A"),
        ("https://example.com/Müller", "https://example.com/M%C3%BCller"),
        ("https://example.com/a%2Fb", "https://example.com/a%2Fb"),
        ("https://bücher.example/x", "https://xn--bcher-kva.example/x"),
        ("https://news.example.com/amplify", "https://news.example.com/amplify"),
        ("https://www.com/a", "https://www.com/a"),
        ("http://[::1]:8000/a", "https://[::1]:8000/a"),
    ],
)
def test_what_tells_pages_apart_stays(url: str, expected: str) -> None:
    assert canonical_url(url) == expected


@pytest.mark.parametrize(
    "url",
    [
        "", "not a url", "/news/bridge", "example.com/a", "javascript:alert(1)", "ftp://a.b/c",
        "https://", "https:///path", "https://exa mple.com/", "https://a.b:99999/",
        "https://[::1/", "https://-/", "mailto:a@b.example", "https://" + "a" * 300 + ".example/",
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused_with_advice(url: str) -> None:
    with pytest.raises(InputError, match="not a web address") as caught:
        canonical_url(url)
    assert "https://" in caught.value.hint


@given(st.text() | st.text().map("https://example.com/".__add__))
def test_only_input_errors_and_stable(url: str) -> None:
    try:
        once = canonical_url(url)
    except InputError:
        return
    assert canonical_url(once) == once
