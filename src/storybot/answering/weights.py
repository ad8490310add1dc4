"""Fitted by eval/bench/fit_reader.py; do not edit by hand."""

from collections.abc import Mapping

SENTENCE: Mapping[str, float] = {
    "reader": 1.0898,
    "cosine": 2.6358,
    "cosine_before": 1.1762,
    "match": 1.6163,
    "match_headline": 2.0046,
    "match_before": 2.1573,
    "window": 1.9184,
    "worst": 1.9481,
    "cover_passage": -0.1292,
    "offers": 0.3097,
    "offers_match": 1.7829,
    "offers_window": 2.1418,
    "rank": 0.8143,
    "share": 0.5008,
    "follows": 1.4141,
    "same_story": 1.4341,
    "replies": 8.0779,
    "question": 0.5109,
    "brief": 0.1639,
    "long": -7.1399,
    "opinion": -0.4208,
    "lead": 0.5690,
}
ANSWERS: Mapping[str, float] = {
    "reader": 0.5770,
    "cosine": 2.3900,
    "window": 3.9734,
    "worst": 0.0000,
    "missing": -0.1060,
    "missing_most": -0.4820,
    "strangers": -0.5295,
    "bias": -3.1996,
}
