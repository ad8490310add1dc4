"""Every word the page shows that is not a story's, in one place."""

from typing import Final

TITLE: Final = "Storybot"
TAGLINE: Final = "Answers in the stories’ own words"
WELCOME: Final = (
    "Ask about the news. The answer is sentences quoted from the stories in this collection, "
    "each with a link to where it stands."
)
TRY: Final = "You could ask:"
EMPTY: Final = "There are no stories here yet."
EMPTY_HINT: Final = "Add some from a terminal, then reload this page:"
EMPTY_COMMAND: Final = "storybot ingest PATH"
CAUTION: Final = "Every sentence is quoted from a story. Open the story before you rely on it."

ASK_LABEL: Final = "Your question"
ASK_PLACEHOLDER: Final = "Ask about the stories"
SEND: Final = "Ask"
STOP: Final = "Stop"
NEW_CHAT: Final = "New chat"
CLOSE_STORY: Final = "Close the story"
CHAT_LABEL: Final = "Conversation"
OPEN_LABEL: Final = "Story to open"

STAGES: Final = {
    "searching": "Searching the stories…",
    "reading": "Reading what was found…",
    "checking": "Checking each sentence against its story…",
}
WORKING: Final = "Working…"
STOPPED: Final = "Stopped before the answer was complete."
DECLINED: Final = "No sentence in these stories answers that."
NEAREST: Final = "The nearest headlines:"
WITHDRAWN: Final = "A sentence is not shown: its story has been withdrawn or cannot be read now."
AS_OF: Final = "As of {date}"
KEYWORD_ONLY: Final = "found by keyword alone"
PARTLY_INDEXED: Final = "some stories found by keyword alone"
STORY_COUNT: Final = ("{n} story", "{n} stories")
OUTLET_COUNT: Final = ("{n} outlet", "{n} outlets")
PENDING: Final = (
    "{n} passage is still being prepared. Until then it is found by its words alone.",
    "{n} passages are still being prepared. Until then they are found by their words alone.",
)

SOURCES: Final = "Sources"
SOURCES_EMPTY: Final = "The stories an answer quotes will be listed here."
SOURCE: Final = "source"
OPEN_SOURCE: Final = "Show it in the story"
BY: Final = "By {authors}"
PUBLISHED: Final = "Published {time}"
UPDATED: Final = "Updated {time}"
CORRECTION: Final = "Correction"
ORIGINAL: Final = "Read the original at {host}"
REVISION: Final = "Revision {n} of {total}"
PARTIAL: Final = "Only part of this story’s text is held here."
UNDATED: Final = "no date given"
AS_GIVEN: Final = "{raw} (as the source gave it)"

LOST: Final = "That answer is no longer kept here. Ask the question again to see its sources."
GONE: Final = "This story has been withdrawn or cannot be shown now."
FAILED: Final = "Something went wrong here, and the answer was not made. Reference: {reference}"

MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


def count(forms: tuple[str, str], n: int) -> str:
    """``n`` with the form that goes with it, thousands grouped."""
    return forms[0 if n == 1 else 1].format(n=f"{n:,}")
