"""Fitted by eval/bench/fit_reader.py; do not edit by hand."""

from collections.abc import Mapping

SENTENCE: Mapping[str, float] = {
    "cosine": 3.4101,
    "cosine_before": 0.9052,
    "match": 2.6167,
    "match_headline": 2.4749,
    "match_before": 2.4576,
    "window": 2.0938,
    "worst": 2.3672,
    "cover_passage": -0.1046,
    "offers": 0.2708,
    "offers_match": 2.0110,
    "offers_window": 2.2215,
    "rank": 0.8302,
    "share": 0.2944,
    "follows": 1.2557,
    "same_story": 1.5367,
    "replies": 8.4742,
    "question": 0.8982,
    "brief": 0.0431,
    "long": -6.9029,
    "opinion": -0.3491,
    "lead": 0.5311,
}
ANSWERS: Mapping[str, float] = {
    "cosine": 2.3110,
    "window": 4.5984,
    "worst": 0.0000,
    "missing": -0.2184,
    "missing_most": -0.4184,
    "strangers": -0.5704,
    "bias": -3.3819,
}
