"""Importing storybot is quick and does nothing."""

import subprocess
import sys

import pytest

HEAVY = {
    "chromadb",
    "fastapi",
    "gradio",
    "langchain_core",
    "sentence_transformers",
    "torch",
    "transformers",
}


@pytest.mark.parametrize("module", ["storybot", "storybot.settings", "storybot.cli"])
def test_no_heavy_library_is_loaded(module: str) -> None:
    code = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert HEAVY.isdisjoint(done.stdout.split())


def test_a_bot_can_be_imported_without_a_model() -> None:
    code = "import sys, storybot.bot, storybot.service; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    models = {"chromadb", "gradio", "sentence_transformers", "torch", "transformers"}
    assert models.isdisjoint(done.stdout.split())
