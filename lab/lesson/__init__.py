"""Lessons: scenes, predictions, claims and texts, all read from `lessons/` and judged on a learner's own run."""
