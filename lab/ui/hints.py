"""A sentence where a setting cannot do what it is for. Pure, but for the strings."""

from __future__ import annotations

from lab.analysis.load import never_fills
from lab.report.words import Words
from lab.run.lanes import RunSpec


def hint(spec: RunSpec, words: Words) -> str:
    """A window that waits for company which can never fill the batch; "" where there is nothing to say."""
    requests = spec.workload.requests
    users = sum(r.follows is None for r in requests)
    closed = users < len(requests)
    kind = "hint.users" if closed else "hint.few_requests"
    for policy in spec.policies:
        if never_fills(policy, users):
            window = f"{policy.max_queue_delay * 1e3:g}"
            return words(kind, mode=words.mode(policy.name), n=users, seats=policy.max_batch_size, window=window)
    return ""
