"""`what-if`: the same loop on an accelerator that is not here, from its data sheet and stated efficiencies."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, TypeVar

from lab.cli.options import add_slo_options, add_work_options, slo_of, spec_of
from lab.cli.output import print_json, run_json, run_text
from lab.cli.predict import check_lengths_known
from lab.engine.coder import Coder
from lab.engine.fetch import SMOLLM2, cache_folder, is_whole
from lab.engine.roofline import Efficiency, Roofline
from lab.engine.text import Text
from lab.run.lengths import OF_DEFAULT_MODEL
from lab.run.predict import NOT_VALIDATED, what_if
from lab.run.prepare import prepare_apart
from lab.spec.devices import ACCELERATORS
from lab.spec.model_shape import WELL_KNOWN

T = TypeVar("T")


def add_to(commands: Any) -> None:
    command = commands.add_parser("what-if", help="what a run would give on a device that is not here")
    add = command.add_argument
    add("--device", default="H100", metavar="NAME", help=f"one of {', '.join(ACCELERATORS)} (default: H100)")
    add("--of", default="Llama-3.1-8B", metavar="MODEL", help=f"one of {', '.join(WELL_KNOWN)}")
    assumed = Efficiency()
    add("--bandwidth-share", type=float, default=assumed.bandwidth, metavar="X", help="of the peak that is reached")
    add("--flop-share", type=float, default=assumed.flops, metavar="X", help="of the dense bf16 peak")
    add(
        "--host-ms",
        type=float,
        default=assumed.host_s * 1000,
        metavar="MS",
        help="launching and bookkeeping, a step",
    )
    add_work_options(command)
    add_slo_options(command)
    command.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    check_lengths_known(options)
    efficiency = Efficiency(options.bandwidth_share, options.flop_share, options.host_ms / 1000)
    device = _one_of(ACCELERATORS, options.device, "--device")
    roofline = Roofline(device, _one_of(WELL_KNOWN, options.of, "--of"), efficiency)
    spec, slo = spec_of(options), slo_of(options)
    workload, assumed = prepare_apart(spec.workload, _coder(), OF_DEFAULT_MODEL)
    record = what_if(replace(spec, workload=workload), roofline)
    if assumed:
        print(f"{assumed} answers have no known length; they count as the most allowed", file=sys.stderr)
    if options.json:
        print_json(run_json(record, slo) | {"what_if": _assumptions(roofline)})
    else:
        print(run_text(record, slo))
        print(f"\n{_sentence(roofline)}")
    return 0


def _coder() -> Coder:
    """The default model's tokenizer where it has been fetched: lengths are those of its prompts and answers."""
    folder = cache_folder() / SMOLLM2.name
    return Coder(Text.load(folder) if is_whole(folder) else None, WELL_KNOWN["SmolLM2-135M"].vocab)


def _assumptions(roofline: Roofline) -> dict[str, Any]:
    return {
        "validated": False,
        "device": asdict(roofline.device),
        "assumed": asdict(roofline.efficiency),
        "weight_bytes": roofline.memory_of_weights,
        "kv_bytes": roofline.kv_bytes,
        "lengths_of": SMOLLM2.name,
    }


def _sentence(roofline: Roofline) -> str:
    d, e = roofline.device, roofline.efficiency
    return (
        f"{roofline.shape.name} on {d.name}, {NOT_VALIDATED}: {d.bytes_per_s / 1e9:,.0f} GB/s peak × "
        f"{e.bandwidth:g} assumed,\n{d.flops / 1e12:,.0f} TFLOPS peak × {e.flops:g} assumed, "
        f"{e.host_s * 1000:g} ms a step for the host.\n"
        f"Memory {d.memory_bytes / 1e9:.0f} GB, weights {roofline.memory_of_weights / 1e9:.1f} GB: "
        f"{roofline.kv_bytes / 1e9:.1f} GB of KV cache for each lane,\nas if it had the device for itself. "
        f"MBU is the share of the peak. Prompts and answers are as long as those of {SMOLLM2.name}."
    )


def _one_of(table: Mapping[str, T], name: str, option: str) -> T:
    found = {key.lower(): value for key, value in table.items()}.get(name.lower())
    if found is None:
        raise ValueError(f"{option} is {name!r}; it must be one of {', '.join(table)}")
    return found
