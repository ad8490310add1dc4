"""One form of an address for all the ways a page is linked."""

import re
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from storybot.errors import InputError

_TRACKING = frozenset(
    [
        "fbclid",
        "gclid",
        "gclsrc",
        "dclid",
        "gbraid",
        "wbraid",
        "msclkid",
        "yclid",
        "twclid",
        "ttclid",
        "igshid",
        "igsh",
        "mc_cid",
        "mc_eid",
        "_ga",
        "_gl",
        "ocid",
        "cmpid",
        "cmp",
        "ncid",
        "icid",
        "smid",
        "sr_share",
        "ref_src",
        "ref_url",
        "fb_action_ids",
        "fb_action_types",
        "fb_source",
        "mkt_tok",
        "_hsenc",
        "_hsmi",
        "amp",
        "xtor",
    ]
)
_TRACKING_PREFIXES = ("utm_", "at_", "pk_", "mtm_", "hsa_")
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?)*\.?")
_HINT = "Give the page's full address, such as https://example.com/news/bridge."
_SAFE = "!$&'()*+,;=:@/~-._"


def canonical_url(url: str) -> str:
    """Reduce an http(s) address to the form two links to one page share.

    Scheme https, host lower-case without ``www.`` and ``amp.``, no default port,
    no fragment, user name, tracking parameters, ``/amp`` or trailing slash; the
    rest of the query sorted. For comparing, not for linking. Raises InputError.
    """
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError as error:
        raise InputError(f"not a web address: {url[:200]!r}", hint=_HINT) from error
    if parts.scheme.lower() not in ("http", "https") or not parts.hostname:
        raise InputError(f"not a web address: {url[:200]!r}", hint=_HINT)
    host = _host(parts.hostname, url)
    if port is not None and port not in (80, 443):
        host = f"{host}:{port}"
    query = urlencode(
        sorted(
            (name, value)
            for name, value in parse_qsl(parts.query, keep_blank_values=True)
            if name.lower() not in _TRACKING and not name.lower().startswith(_TRACKING_PREFIXES)
        )
    )
    return f"https://{host}{_path(parts.path)}" + (f"?{query}" if query else "")


def _host(name: str, url: str) -> str:
    if ":" in name:
        return f"[{name.lower()}]"
    try:
        host = name.encode("idna").decode("ascii").lower().rstrip(".")
    except UnicodeError as error:
        raise InputError(f"not a web address: {url[:200]!r}", hint=_HINT) from error
    if not _HOST.fullmatch(host):
        raise InputError(f"not a web address: {url[:200]!r}", hint=_HINT)
    labels = host.split(".")
    while len(labels) > 2 and labels[0] in ("www", "amp"):
        labels = labels[1:]
    return ".".join(labels)


def _path(path: str) -> str:
    if "%2f" not in path.lower():
        path = quote(unquote(path, errors="surrogateescape"), safe=_SAFE, errors="surrogateescape")
    path = re.sub(r"/{2,}", "/", path).rstrip("/")
    if path.endswith(("/amp", ".amp")):
        path = path[:-4].rstrip("/")
    return path
