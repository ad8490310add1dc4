"""One text whatever the encoding, or a refusal that says why."""

import os
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storybot.errors import InputError
from storybot.ingest.decoding import clean, decode, decode_text, wide_encoding

ARTICLE = (
    "Bridge to reopen on Monday\n\n"
    "Mayor Anna Müller said the repairs cost €4.2 million.\n\n"
    "“We are glad,” she said. “The bridge is safe — again.”\n\n"
    "Traffic will resume at 06:00.\n"
)
JAPANESE = (
    "橋が月曜日に再開\n\n市長は、橋の修理に四百二十万ユーロかかったと述べた。\n\n"
    "「安全です」と市長は語った。\n\n交通は午前六時に再開される。\n"
)
CZECH = "Starosta řekl, že most bude znovu otevřen v pondělí. Opravy stály čtyři miliony korun.\n"

LEGACY = [
    ("cp1252", ARTICLE),
    ("cp1252", "The city’s budget didn’t pass.\n"),
    ("cp1252", "The price rose by £300 to £1,200 in a year, the survey shows.\n"),
    ("cp1252", "Temperatures reached 34°C in the south, the weather service said.\n"),
    ("cp1252", "L'école a été fermée lundi à cause de la neige.\n"),
    ("cp1252", "ÉTÉ 2024 : RECORD DE CHALEUR À NÎMES\n\nLa température a atteint 44 °C.\n"),
    ("cp1252", "¿Qué pasó ayer? El señor Núñez dijo que la reunión será mañana.\n"),
    ("cp1252", "Die Brücke wird am Montag wieder geöffnet, sagte Frau Schäfer.\n"),
    ("cp1252", "El president català va dir que la col·laboració és bàsica. Això és així.\n"),
    ("cp1252", "Bron öppnas på måndag, säger kommunalrådet Åsa Öberg.\n"),
    ("latin-1", "Die Brücke über die Donau wird größer.\n"),
    ("iso8859-15", "Le coût est de 4 € et le cœur de la ville reste fermé. Été.\n"),
    ("cp1250", "Prezydent Łodzi ogłosił, że ulica będzie zamknięta. „To konieczne” – dodał.\n"),
    ("cp1250", "Zażółć gęślą jaźń. Święta tuż-tuż, a śniegu nie ma.\n"),
    ("cp1250", CZECH),
    ("cp1251", "Мост откроют в понедельник.\n"),
    ("cp1251", "Москва. Мэр заявил: «Мы рады». Ремонт обошёлся в 4 миллиона рублей.\n"),
    ("koi8-r", "Мэр города заявил, что мост откроют в понедельник.\n"),
    ("cp1253", "Ο δήμαρχος δήλωσε ότι η γέφυρα θα ανοίξει ξανά τη Δευτέρα.\n"),
    ("cp1254", "Belediye başkanı köprünün pazartesi günü yeniden açılacağını söyledi.\n"),
    ("shift_jis", JAPANESE),
    ("shift_jis", "市長は橋が月曜日に再開すると述べた。\n"),
    ("shift_jis", "Muller市長、橋の再開を発表。費用は4.2億円。\n"),
    ("euc_jp", JAPANESE),
    ("euc_jp", "首相が訪米へ\n\n両国の関係強化について話し合う予定だ。\n"),
    ("iso2022_jp", JAPANESE),
    ("gb18030", "市长表示，大桥将于星期一重新开放。\n"),
    ("big5", "市長表示，大橋將於星期一重新開放。\n"),
    ("cp949", "시장은 다리가 월요일에 다시 열린다고 말했다.\n"),
]
UNICODE = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"]


@pytest.mark.parametrize("encoding", [*UNICODE, "cp1252"])
@pytest.mark.parametrize("declared", [None, "iso-8859-1", "utf-8", "windows-1251", "no-such"])
def test_every_encoding_gives_the_same_text(encoding: str, declared: str | None) -> None:
    assert decode(ARTICLE.encode(encoding), declared=declared) == ARTICLE


@pytest.mark.parametrize(("encoding", "text"), LEGACY)
def test_legacy_text_comes_out_right_alone(encoding: str, text: str) -> None:
    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize(("encoding", "text"), LEGACY)
def test_legacy_text_comes_out_right_in_long_files(encoding: str, text: str) -> None:
    long = "The council met to talk about the roads of the town.\n\n" * 200 + text * 3
    assert decode(long.encode(encoding)) == long


@pytest.mark.parametrize("declared", ["iso-8859-1", "utf-8", "utf-16", "rot13"])
@pytest.mark.parametrize(("encoding", "text"), [("shift_jis", JAPANESE), ("cp1250", CZECH)])
def test_a_wrong_declared_charset_does_no_harm(encoding: str, text: str, declared: str) -> None:
    assert decode(text.encode(encoding), declared=declared) == text


def test_a_declared_charset_is_followed_where_the_bytes_allow_two() -> None:
    both = b"Sk\xf6ld said so.\n"
    assert decode(both, declared="windows-1252") == "Sköld said so.\n"
    assert decode(b"Mayor Ji\xf8\xed Dvo\xf8\xe1k spoke.\n", declared="windows-1250") == (
        "Mayor Jiří Dvořák spoke.\n"
    )


@pytest.mark.parametrize(
    "data",
    [
        bytes(range(128, 256)) * 3,
        ARTICLE.encode("cp1252") + JAPANESE.encode("shift_jis") + "Мост\n".encode("cp1251"),
        "Bridge\n\nDie Brücke ist gut. Schöne Grüße.\n".encode() + b"M\xfcller\n",
        "The mayor said it was fine.".encode("cp037"),
        ARTICLE.encode("utf-16")[:-1],
        b"The mayor said \xd0\xb6\xdf on Monday.",
    ],
)
def test_what_cannot_be_told_is_refused_with_the_reason(data: bytes) -> None:
    with pytest.raises(InputError, match="cannot tell which encoding") as caught:
        decode(data)
    assert "UTF-8" in caught.value.hint


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "PNG"),
        (b"%PDF-1.7\n%text", "PDF"),
        (b"PK\x03\x04word", "ZIP"),
        (b"\x7fELF\x02\x01\x01" + bytes(9), "ELF"),
        (b"\x1f\x8b\x08abc", "gzip"),
        (bytes(500), "control characters"),
        (b"some text" + bytes(200) + b"more", "control characters"),
    ],
)
def test_binary_is_refused_by_name(data: bytes, kind: str) -> None:
    with pytest.raises(InputError, match=f"binary.*{kind}"):
        decode(data)


@pytest.mark.parametrize("text", ["ID3 tags explained\n", "BZh is not a word\n", "OggS\n"])
def test_words_that_are_also_magic_bytes_are_text(text: str) -> None:
    assert decode(text.encode()) == text


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("MÃ¼ller said â€œhelloâ€\x9d", "Müller said “hello”"),
        ("CAFÉ® opens in SÃO PAULO", "CAFÉ® opens in SÃO PAULO"),
        ("São Â, £5 É™", "São Â, £5 É™"),
        ("“Müller” – naïve", "“Müller” – naïve"),
    ],
)
def test_double_encoding_is_undone_and_honest_text_left(given: str, expected: str) -> None:
    decoded = decode_text(given.encode())
    assert decoded.text == expected
    assert bool(decoded.warnings) == (given != expected)


@pytest.mark.parametrize(
    ("given", "expected", "warned"),
    [
        ("a\r\nb\rc\u2028d\x85e\x0cf", "a\nb\nc\nd\ne\nf", False),
        ("Mu\u0308ller", "Müller", False),
        ("a\x00b\x1bc\ud800d\uffffe", "abcde", True),
        ("\ud83d\ude00", "😀", False),
        ("\x93so\x94", "“so”", True),
        ("\ufefftab\there", "tab\there", False),
    ],
)
def test_clean(given: str, expected: str, warned: bool) -> None:
    text, warnings = clean(given)
    assert (text, bool(warnings)) == (expected, warned)


TEXT = st.text(
    st.characters(
        exclude_categories=("Cc", "Cs", "Cn", "Co"), exclude_characters="\u2028\u2029\ufeff"
    ),
    min_size=1,
)


@given(TEXT, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]))
def test_unicode_round_trips(text: str, encoding: str) -> None:
    text = "Council: " + text  # not the bytes of another kind of file
    decoded = decode_text(text.encode(encoding))
    if not any("encoded twice" in warning for warning in decoded.warnings):
        assert decoded.text == unicodedata.normalize("NFC", text)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300), st.sampled_from([None, "latin-1", "utf-16", "shift_jis", "", "\0"]))
def test_only_input_errors_and_never_mojibake(data: bytes, declared: str | None) -> None:
    try:
        text = decode(data, declared=declared)
    except InputError as error:
        text = f"{error} {error.hint}"
    controls = {char for char in text if unicodedata.category(char) in ("Cc", "Cs")}
    assert controls <= {"\n", "\t"}
    assert (
        "\ufffd" not in text
        or "\ufffd".encode() in data
        or b"\xff\xfd" in data
        or b"\xfd\xff" in data
    )


def test_random_bytes_are_refused() -> None:
    for _ in range(50):
        with pytest.raises(InputError):
            decode(b"\x01\xff" + os.urandom(400))


@pytest.mark.parametrize(
    "text", ["Nul head\n\nBody\0 with nul.\n", "Short\n\nA\0b it is so, ok.\n"]
)
def test_a_stray_nul_does_not_make_plain_text_wide(text: str) -> None:
    assert wide_encoding(text.encode()) == ""
    assert wide_encoding(text.replace("\0", "").encode("utf-16-le")) == "utf-16-le"
