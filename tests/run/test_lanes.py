"""Lanes are settled on devices: disjoint slots, one device a group as far as there are any."""

from types import SimpleNamespace

import pytest

from lab.analysis.checks import check_lane
from lab.engine.scripted import ScriptedExecutor
from lab.run.lanes import RunSpec, build_lanes
from lab.run.race import to_the_end
from lab.scheduling.policy import mode
from lab.spec.model_shape import WELL_KNOWN
from lab.workload.request import Request, Workload


class Device(ScriptedExecutor):
    """Notes what is asked of it."""

    def __init__(self, free=10**9):
        super().__init__(lambda step: 1.0 + len(step.rows) / 8)
        self.free, self.slots, self.used = free, 0, set()

    def allocate(self, slots, tokens_per_slot):
        self.slots = slots

    def clear(self):
        return self.free

    def warm_up(self, batch_sizes, prompt_lengths):
        pass

    def run(self, step, horizon):
        self.used.update(row.slot for row in step.rows)
        return super().run(step, horizon)


def _engine(*devices):
    return SimpleNamespace(
        executor=devices[0],
        executors=devices,
        shape=WELL_KNOWN["SmolLM2-135M"],
        weight_bytes=269_030_016,
        kv_bytes_per_token=1000,
        stop_ids=frozenset(),
    )


def _work(count=12):
    return Workload("w", tuple(Request(i, 0.0, 5, prompt_ids=(1,) * 4, output_tokens=5) for i in range(count)))


def _run(spec, engine):
    lanes = build_lanes(spec, spec.workload, engine)
    to_the_end(lanes)
    for lane in lanes:
        check_lane(spec.workload, lane.record(), complete=True)
    return lanes


@pytest.mark.parametrize("scattered", [False, True])
def test_each_group_works_on_a_device_of_its_own_and_fills_its_pool(scattered):
    devices = Device(), Device()
    spec = RunSpec(_work(), (mode("static", 4), mode("continuous", 2)), groups=2, scattered=scattered)
    _run(spec, _engine(*devices))
    slots = (2 + 1) if scattered else (4 + 2)
    for device in devices:
        assert device.slots == slots
        assert device.used == set(range(slots))


def test_more_groups_than_devices_share_them_in_turn():
    devices = Device(), Device()
    _run(RunSpec(_work(), (mode("none"),), groups=3), _engine(*devices))
    assert [device.used for device in devices] == [{0, 1}, {0}]


def test_several_devices_give_the_same_times_as_one_that_runs_the_groups_in_turn():
    spec = RunSpec(_work(), (mode("static", 4), mode("continuous", 3)), groups=2)
    [one], [two] = (
        [[list(zip(c.start, c.group, strict=True)) for c in (lane.record().columns for lane in lanes)]]
        for lanes in (_run(spec, _engine(Device())), _run(spec, _engine(Device(), Device())))
    )
    assert one == two


def test_the_fullest_device_sets_the_budget():
    lanes = _run(RunSpec(_work(), (mode("none"),), groups=2), _engine(Device(2 * 10**9), Device(10**9)))
    assert lanes[0].kv_budget == int(0.9 * 10**9 / (4 * 2) / 1000)


def test_scattering_over_one_group_is_refused():
    with pytest.raises(ValueError, match="over 2 groups or more; groups is 1"):
        RunSpec(_work(), (mode("none"),), scattered=True)


def test_a_batch_that_memory_cannot_hold_is_refused_before_a_pool_is_made_with_the_largest_that_fits():
    device = Device(free=400_000_000)
    requests = tuple(Request(i, 0.0, 900, prompt_ids=(1,) * 100, output_tokens=5) for i in range(64))
    engine, work = _engine(device), Workload("w", requests)
    with pytest.raises(ValueError, match=r"needs 2,0\d\d MB: weights 269 MB, KV cache 1,475 MB") as refused:
        build_lanes(RunSpec(work, (mode("static", 64),)), work, engine)
    assert device.slots == 0
    largest = int(str(refused.value).rpartition(" ")[2])
    build_lanes(RunSpec(work, (mode("static", largest),)), work, engine)
    with pytest.raises(ValueError, match=f"the largest batch size that fits is {largest}"):
        build_lanes(RunSpec(work, (mode("static", largest + 1),)), work, engine)
