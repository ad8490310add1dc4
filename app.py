"""The Gradio entry point: `python app.py` opens the same site as `storybot serve`."""

from storybot.cli import main

if __name__ == "__main__":
    main(["serve"], prog_name="storybot")
