"""What a question asks for, and which sentence answers it."""

import pytest

from storybot.answering.offers import offers
from storybot.answering.question import analyse, kinds_of
from storybot.bot import Storybot
from storybot.client import _body
from storybot.service import AskQuery
from storybot.shapes import answer_shape


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Which magazine did the minister speak to?", "listener"),
        ("Who interviewed the goalkeeper after the match?", "listener"),
        ("Who was she talking to when the lights went out?", "listener"),
        ("Who spoke to the crowd?", "who"),
        ("Who told the court about the car?", "who"),
        ("Which channel shows the match?", "name"),
        ("How old is the winner?", "age"),
        ("When did the strike begin?", "when"),
        ("Where was the bus found?", "where"),
        ("How much did the roof cost?", "money"),
        ("How many people were hurt?", "count"),
        ("What did the mayor say about the vote?", "said"),
        ("Why was the game called off?", "why"),
        ("¿Cuándo abre el puente?", "when"),
    ],
)
def test_the_kind_of_answer_is_told_by_the_wording(question: str, kind: str) -> None:
    assert kind in kinds_of(question)


@pytest.mark.parametrize(
    ("question", "sentence", "offered"),
    [
        ("What did Hanna tell Emil?", "“Go home and stay there,” Emil replied.", False),
        ("What did Hanna tell Emil?", "“Go home and stay there,” Hanna snapped.", True),
        ("What did Mrs Ashby say?", "“The vote is lost for good,” said Petra Lind.", False),
        ("What did the mayor say?", "“The vote is lost for good,” said Petra Lind.", True),
        ("What did Hanna tell Emil?", "“Go home and stay there,” she said.", True),
        ("Which paper did Hanna speak to?", "Hanna told the Weekly Post that she was tired.", True),
        ("Which paper did Hanna speak to?", "Hanna walked past the Weekly Post building.", False),
    ],
)
def test_a_sentence_offers_the_words_of_who_was_asked_about(
    question: str, sentence: str, offered: bool
) -> None:
    asked = analyse(question, lambda stems: (0, {}))
    assert (offers(asked, sentence) >= 0.9) is offered


def test_a_sentence_of_any_length_is_weighed(bot: Storybot) -> None:
    long = " ".join(f"item{n}" for n in range(2_000))
    bot.ingest(f"A long list\n\n{long}.\n".encode(), source="long.txt")
    bot.ingest(b"Volcano erupts\n\nMount Tarn erupted at noon.\n", source="tarn.txt")
    assert "Mount Tarn erupted at noon." in bot.ask("When did Mount Tarn erupt?").text


@pytest.mark.parametrize("question", ["???", "(((((", "*", "😀", "+", "col:", "x" * 2_000])
def test_what_shares_no_word_with_a_story_is_declined(bot: Storybot, question: str) -> None:
    bot.ingest(b"Volcano erupts\n\nMount Tarn erupted at noon.\n", source="tarn.txt")
    assert bot.ask(question).status == "declined"


def test_an_undated_answer_can_be_sent_as_history(bot: Storybot) -> None:
    bot.ingest(b"Volcano erupts\n\nMount Tarn erupted at noon.\n", source="tarn.txt")
    answer = answer_shape(bot.ask("When did Mount Tarn erupt?"))
    assert answer.as_of is None
    query = AskQuery(question="Where?", history=[answer])
    assert AskQuery.model_validate(_body(query)) == query


INTERVIEW = """---
headline: Five minutes with the harbour pilot
outlet: The Tarn Post
---
Q. When did Ilse Varga first steer a ship?

A. The autumn I turned nineteen.

Q. Did she ever run one aground?

A. Once, on a Sunday. Nobody was hurt.
"""


@pytest.mark.parametrize(
    ("question", "reply"),
    [
        ("When did Ilse Varga first steer a ship?", "The autumn I turned nineteen."),
        ("Did Ilse Varga ever run a ship aground?", "Once, on a Sunday."),
    ],
)
def test_a_question_of_an_interview_brings_its_reply(
    bot: Storybot, question: str, reply: str
) -> None:
    bot.ingest(INTERVIEW.encode(), source="pilot.md")
    told = [sentence.text for sentence in bot.ask(question).sentences]
    said = next(at for at, each in enumerate(told) if reply in each)
    assert told[said - 1].endswith("?")
