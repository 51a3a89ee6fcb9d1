"""The loop: one policy at work on one workload, on its own clock.

A step is three verbs: decide (scheduling), run (engine), book (here). The lane owns the queue, the
groups, the KV ledgers and the columns; it refuses to know what a step costs or why a policy decides so.
"""

from __future__ import annotations

import heapq
import math
from collections import OrderedDict
from collections.abc import Sequence

from lab.engine.step import ONE_STEP, Executor, Horizon, Outcome, Step
from lab.run.clock import Clock, VirtualClock
from lab.run.column_log import ColumnLog, Mark
from lab.run.group import Crew, Group, Home, Seat
from lab.run.record import Columns, LaneRecord
from lab.scheduling.decide import Admit, Decode, Reason, View, Wait, decide
from lab.scheduling.memory import ragged_reservation
from lab.scheduling.order import Waiting
from lab.scheduling.policy import Policy
from lab.workload.request import Request, Workload


class Lane:
    """One mode at work.

    workload    tokenized requests; where a request's output_tokens is None, it ends at a token of
                `stop_ids` (which counts as its last token) or at max_new_tokens
    executor    runs the steps; slots first_slot … first_slot + groups × seats − 1 are this lane's own
    homes       where each group lives, if they do not all live there
    kv_budget   tokens of KV cache that each group may reserve
    scattered   a batch is spread over all groups, not kept on one (see lab.run.group)
    context     most tokens (prompt and answer) the model can attend to

    Requests that could never run are refused at once, each with a sentence; see `refused`.
    Raises ValueError where the workload is not tokenized or a number is out of range.
    """

    def __init__(
        self,
        policy: Policy,
        workload: Workload,
        executor: Executor,
        *,
        kv_budget: int,
        context: int,
        groups: int = 1,
        scattered: bool = False,
        first_slot: int = 0,
        homes: Sequence[Home] = (),
        stop_ids: frozenset[int] = frozenset(),
        clock: Clock | None = None,
    ) -> None:
        if not workload.tokenized:
            raise ValueError(f"workload {workload.name!r} is not tokenized; every request needs prompt_ids")
        if groups < 1:
            raise ValueError(f"groups is {groups}; a lane needs at least 1")
        self.policy = policy
        self.kv_budget = kv_budget
        self._requests = workload.requests
        self._stop_ids = stop_ids
        self._clock: Clock = clock or VirtualClock()
        self._log = ColumnLog()
        seats = seats_needed(policy, workload, groups if scattered else 1)
        homes = homes or [Home(executor, first_slot + i * seats) for i in range(groups)]
        self._groups = [Group(i, home, seats, kv_budget) for i, home in enumerate(homes)]
        self._scattered = scattered
        self._crews = [Crew(self._groups)] if scattered else [Crew([group]) for group in self._groups]
        self._queue: OrderedDict[int, Waiting] = OrderedDict()
        self._scheduled = [(r.arrival, r.id) for r in self._requests if r.follows is None]
        heapq.heapify(self._scheduled)
        self._finished_count = 0
        self._followers: dict[int, list[Request]] = {}
        for request in self._requests:
            if request.follows is not None:
                self._followers.setdefault(request.follows, []).append(request)
        limit = min(kv_budget, context)
        self.refused = {
            r.id: _refusal(r, kv_budget, context) for r in self._requests if ragged_reservation(r) > limit
        }

    # ---- what others may ask

    @property
    def time(self) -> float:
        """Seconds on this lane's clock at which it acts next; inf when it is done."""
        return min(crew.wakes for crew in self._crews)

    @property
    def done(self) -> bool:
        return math.isinf(self.time)

    @property
    def ended(self) -> int:
        """Requests that have their last token, or were refused."""
        return self._finished_count + len(self.refused)

    def record(self) -> LaneRecord:
        """All that has happened so far."""
        return LaneRecord(
            policy=self.policy,
            groups=len(self._groups),
            scattered=self._scattered,
            kv_budget=self.kv_budget,
            refused=tuple(self.refused.items()),
            columns=self._log.since(),
            stop_ids=tuple(sorted(self._stop_ids)),
        )

    @property
    def mark(self) -> Mark:
        return self._log.mark

    def columns_since(self, mark: Mark) -> Columns:
        return self._log.since(mark)

    # ---- the loop

    def advance(self) -> None:
        """One decision of the crew that acts next, carried out."""
        crew = min(self._crews, key=lambda c: c.wakes)
        crew.clock = crew.wakes = self._clock.wait(crew.clock, crew.wakes)
        self._let_in(crew.clock)
        decision = decide(self.policy, self._view(crew))
        if isinstance(decision, Wait):
            crew.wakes = decision.until
            assert crew.wakes > crew.clock, f"a wait that ends before it begins: {decision}"
            return
        if isinstance(decision, Admit):
            self._admit(crew, decision.requests)
        self._run(crew, decision)

    def _let_in(self, now: float) -> None:
        """Those who have arrived join the queue; one that is refused leaves at once."""
        while self._scheduled and self._scheduled[0][0] <= now:
            arrival, number = heapq.heappop(self._scheduled)
            r = self._requests[number]
            if number in self.refused:
                self._schedule_followers(number, arrival)
            else:
                self._queue[number] = Waiting(number, arrival, r.prompt_tokens, r.max_new_tokens, r.priority)

    def _view(self, crew: Crew) -> View:
        return View(
            now=crew.clock,
            waiting=self._queue.values(),
            next_arrival=self._next_arrival,
            free_since=crew.free_since,
            live=crew.live,
            seats_free=self.policy.max_batch_size - crew.seated,
            batch_open=crew.seated > 0,
            kv_free=crew.kv_free,
        )

    @property
    def _next_arrival(self) -> float:
        return self._scheduled[0][0] if self._scheduled else math.inf

    def _admit(self, crew: Crew, chosen: Sequence[Waiting]) -> None:
        assert chosen, "a batch of nobody"
        for waiting in chosen:
            del self._queue[waiting.id]
        crew.seat([self._requests[w.id] for w in chosen], self.policy.padded)

    def _run(self, crew: Crew, decision: Admit | Decode) -> None:
        """A step of each of the crew's groups that has anybody; they begin together."""
        horizon = self._horizon(crew, decision)
        parts = [self._run_group(group, horizon, crew.clock, decision) for group in crew.groups if group.seats]
        self._pass_time(crew, [outcome for _, _, outcome in parts])
        for group, computed, outcome in parts:
            self._book(group, computed, outcome, crew.clock)
        if not crew.seated:
            crew.free_since = crew.clock

    def _run_group(
        self, group: Group, horizon: Horizon, now: float, decision: Admit | Decode
    ) -> tuple[Group, list[Seat], Outcome]:
        computed = [seat for seat in group.seats if seat.live or self.policy.padded]
        step = Step(tuple([seat.row() for seat in computed]))
        outcome = group.executor.run(step, horizon)
        assert 1 <= len(outcome.seconds) <= horizon.steps, f"{len(outcome.seconds)} steps, {horizon.steps} asked"
        self._log.add(now, group.index, decision.reason, step.rows, outcome, group.ledger.reserved)
        return group, computed, outcome

    def _horizon(self, crew: Crew, decision: Admit | Decode) -> Horizon:
        """How many decode steps may pass before this lane could decide anything else."""
        if isinstance(decision, Admit) or (decision.reason is Reason.MEMORY_FULL and self.policy.order.by_priority):
            return ONE_STEP  # in the latter case ageing may bring somebody to the front who fits
        if len(crew.groups) > 1:
            return ONE_STEP  # groups that share a batch wait for each other after every step
        left = [
            1 if seat.request.output_tokens is None else seat.request.output_tokens - seat.emitted
            for seat in crew.groups[0].seats
            if seat.live
        ]
        # An answer that ends on another crew can bring a new arrival; that crew's clock comes first.
        others = [c.clock for c in self._crews if c is not crew and c.seated]
        return Horizon(min(left), min([self._next_arrival, *others]) - crew.clock)

    # ---- booking what a step did

    def _pass_time(self, crew: Crew, outcomes: Sequence[Outcome]) -> None:
        """The slowest group's seconds."""
        before = crew.clock
        for seconds in max((outcome.seconds for outcome in outcomes), key=sum):
            assert seconds >= 0, f"a step of {seconds} s"
            crew.clock = self._clock.after_step(crew.clock, seconds)
        assert crew.clock >= before, "a clock that runs backwards"
        crew.wakes = crew.clock

    def _book(self, group: Group, computed: list[Seat], outcome: Outcome, now: float) -> None:
        steps = len(outcome.seconds)
        given = outcome.tokens[-1] or (0,) * len(computed)  # predicted steps give no tokens
        for seat, token in zip(computed, given, strict=True):
            seat.take(steps, token)
            if seat.live and self._finished(seat):
                group.finish(seat, self.policy.padded)
                self._finished_count += 1
                self._schedule_followers(seat.request.id, now)
        self._leave(group)
        group.ledger.check()

    def _finished(self, seat: Seat) -> bool:
        request = seat.request
        if request.output_tokens is not None:
            assert seat.emitted <= request.output_tokens, f"request {request.id} was given too many tokens"
            return seat.emitted == request.output_tokens
        return seat.last in self._stop_ids or seat.emitted == request.max_new_tokens

    def _leave(self, group: Group) -> None:
        """Who is done gets off: at once with refill; else the batch ends for all of its seats together."""
        finished = len(group.seats) - group.live
        if finished == 0 or (not self.policy.refill and group.live):
            return
        group.executor.release(group.empty(self.policy.padded))

    def _schedule_followers(self, number: int, ended: float) -> None:
        for request in self._followers.pop(number, []):
            arrival = ended + request.arrival
            heapq.heappush(self._scheduled, (arrival, request.id))
            for crew in self._crews:
                if not crew.seated:  # it may have been waiting for something later
                    crew.wakes = max(crew.clock, min(crew.wakes, arrival))


def seats_needed(policy: Policy, workload: Workload, parts: int = 1) -> int:
    """Slots that one group of this policy can fill at once, where a batch is dealt out in so many parts."""
    return -(-min(policy.max_batch_size, len(workload.requests)) // parts)


def _refusal(request: Request, kv_budget: int, context: int) -> str:
    needs = ragged_reservation(request)
    parts = f"{needs} tokens ({request.prompt_tokens} of prompt, up to {request.max_new_tokens} of answer)"
    if needs > context:
        return f"needs {parts}; the model attends to at most {context}"
    return f"needs {parts}; the KV budget holds {kv_budget}"
