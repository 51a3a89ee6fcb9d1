"""Hybrids: a mode's row of the table with a rule turned over, to see which knob buys what. Pure.

A hybrid is named by what it changes: "static -padded" is static without the rectangle, "dynamic +refill -padded"
has both rules turned.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from lab.scheduling.policy import Policy

RULES = ("refill", "padded")


def hybrid(row: Policy, rules: Collection[str]) -> Policy:
    """This row, with those of RULES on that are in `rules` and the others off. Raises ValueError as Policy does."""
    turned = [rule for rule in RULES if (rule in rules) is not getattr(row, rule)]
    name = " ".join([row.name, *(f"{'+' if rule in rules else '-'}{rule}" for rule in turned)])
    return replace(row, name=name, refill="refill" in rules, padded="padded" in rules)


def rules_of(row: Policy) -> tuple[str, ...]:
    return tuple(rule for rule in RULES if getattr(row, rule))


def base_of(name: str) -> str:
    """The mode that a lane of this name is, or is a hybrid of."""
    return name.split(" ")[0]
