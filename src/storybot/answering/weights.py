"""Fitted by eval/bench/fit_reader.py; do not edit by hand."""

from collections.abc import Mapping

SENTENCE: Mapping[str, float] = {
    "cosine": 3.5339,
    "cosine_before": 1.0227,
    "match": 2.4388,
    "match_headline": 2.6678,
    "match_before": 2.5522,
    "window": 2.4934,
    "worst": 2.6931,
    "cover_passage": 0.0453,
    "offers": 0.3257,
    "offers_match": 1.6911,
    "offers_cover": 0.1079,
    "rank": 0.8648,
    "share": 0.3276,
    "follows": 1.3140,
    "same_story": 1.4877,
    "replies": 8.0434,
    "question": 0.8593,
    "brief": -0.1683,
    "long": -6.4048,
    "opinion": -0.4243,
    "lead": 0.5025,
}
ANSWERS: Mapping[str, float] = {
    "cosine": 1.3933,
    "window": 1.5182,
    "worst": 0.5563,
    "offers": 0.0000,
    "missing": -0.0000,
    "missing_most": -0.0000,
    "strangers": -0.3790,
    "bias": -1.6956,
}
