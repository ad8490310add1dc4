"""Fitted by eval/bench/fit_reader.py; do not edit by hand."""

from collections.abc import Mapping

SENTENCE: Mapping[str, float] = {
    "reader": 0.9906,
    "cosine": 2.9512,
    "cosine_before": 0.8842,
    "match": 1.8577,
    "match_headline": 2.2529,
    "match_before": 2.4687,
    "window": 1.9111,
    "worst": 1.4362,
    "cover_passage": -0.1514,
    "offers": 0.2093,
    "offers_match": 1.8804,
    "offers_window": 2.1292,
    "rank": 0.7853,
    "share": 0.5083,
    "follows": 1.2738,
    "same_story": 1.3456,
    "replies": 8.2594,
    "question": 0.5497,
    "brief": 0.1242,
    "long": -6.3869,
    "opinion": -0.3056,
    "lead": 0.6781,
}
ANSWERS: Mapping[str, float] = {
    "reader": 2.0950,
    "cosine": 1.8850,
    "strangers": -0.9404,
    "bias": -1.9985,
}
