"""What the English prompts of the lab say, for readers of another language. The model speaks English only."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from lab.report.words import Language, Words
from lab.workload.prompts import shipped_glosses

LEAST = 20  # letters: a shorter beginning may be that of many texts


@cache
def glosses(language: Language) -> Mapping[str, str]:
    """By prompt, or by the text that a prompt is the beginning of; none in English."""
    if language == "en":
        return {}
    words = Words(language)
    found = shipped_glosses()
    texts = {text: words("gloss.beginning", about=about) for text, about in found.texts.items()}
    tasks = {prompt: words("gloss.task", task=task, about=about) for prompt, (task, about) in found.tasks.items()}
    return {**found.lines, **tasks, **texts}


def gloss(prompt: str, language: Language) -> str:
    """ "" where none is known. The same rule is in assets/stage/gloss.js."""
    known = glosses(language)
    if prompt in known:
        return known[prompt]
    for text, told in known.items():
        if prompt.startswith(text) or (len(prompt) >= LEAST and text.startswith(prompt)):
            return told
    return ""
