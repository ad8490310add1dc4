"""Fitted by eval/bench/fit_reader.py; do not edit by hand."""

from collections.abc import Mapping

SENTENCE: Mapping[str, float] = {
    "reader": 1.0913,
    "cosine": 2.6444,
    "cosine_before": 1.1455,
    "match": 1.6220,
    "match_headline": 2.0820,
    "match_before": 2.3252,
    "window": 1.8559,
    "worst": 1.7913,
    "cover_passage": -0.2241,
    "offers": 0.2869,
    "offers_match": 2.0516,
    "offers_window": 2.2487,
    "rank": 0.8211,
    "share": 0.4588,
    "follows": 1.3337,
    "same_story": 1.4261,
    "replies": 8.0655,
    "question": 0.4221,
    "brief": 0.2185,
    "long": -7.0863,
    "opinion": -0.3769,
    "lead": 0.6118,
}
ANSWERS: Mapping[str, float] = {
    "reader": 0.5801,
    "cosine": 2.1601,
    "window": 4.2292,
    "worst": 0.0000,
    "missing": -0.0000,
    "missing_most": -0.6058,
    "strangers": -0.5496,
    "bias": -3.2927,
}
