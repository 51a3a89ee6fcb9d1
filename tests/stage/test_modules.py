"""The stage's files: they join into one module, ask nobody outside, never read text as markup, know their words."""

import re
from collections import Counter

import pytest

from lab.lesson.lesson import scenes
from lab.report.stage_assets import FOLDER, modules, stage_css, stage_js
from lab.report.words import LANGUAGES, texts
from lab.run.line import Why
from lab.scheduling.decide import Reason
from lab.scheduling.hybrid import RULES
from lab.scheduling.policy import MODES

KINDS = ("left", "refilled", "finished", "memory")
DISPATCHED = (
    Reason.BATCH_FULL, Reason.WINDOW_OVER, Reason.NO_WINDOW, Reason.NOTHING_MORE_ARRIVES, Reason.FEW_ENOUGH,
    Reason.BUCKET_LATE, Reason.BUCKET_MERGED, Reason.SEAT_FREE, Reason.MEMORY_FULL, Reason.TOKENS_FULL,
)  # fmt: skip
STAYED = (Reason.BATCH_RUNS, Reason.SEATS_FULL, Reason.NOBODY_WAITS, Reason.MEMORY_FULL, Reason.TOKENS_FULL)
METRICS = ("throughput", "ttft_p50", "tpot_p50", "e2e_p99", "padding", "straggler", "kv_peak")
KNOBS = ("rate", "max_batch_size", "max_queue_delay_ms", "kv_budget_mb")
WAITS = ("plain", "window", "over", "endless")
NAMES = {scene.lane_name(key) for scene in scenes().values() for key in scene.lanes}
LANES = tuple(sorted(name for name in NAMES if name not in MODES))
FAMILIES = {
    "mode.${}.name": MODES,
    "stage.waits.${}": WAITS,
    "stage.queue.${}": WAITS,
    "stage.lane.${}": tuple("_".join(re.findall(r"[a-z0-9]+", name)) for name in LANES),
    "stage.why.${}": DISPATCHED,
    "stage.stays.${}": STAYED,
    "stage.board.${}.name": METRICS,
    "stage.board.${}.means": METRICS,
    "stage.event.${}": ("any", *KINDS),
    "stage.legend.${}": ("useful", "prompt", "padding", "dead", "empty", "used", "reserved", "bucket", "urgent"),
    "stage.rule.${}": ("car", "full", "timer", "line"),
    "stage.origin.${}": ("predicted", "recorded", "expected"),
    "stage.turned.${}": tuple(f"{sign}_{rule}" for sign in ("with", "without") for rule in RULES),
    "stage.request.${}": ("same", "differs"),
    "stage.preview.${}": ("calibrating", "long", "refused"),
    "stage.panel.${}": ("answers", "reasons"),
    "stage.knob.${}": KNOBS,
    "stage.knob.value.${}": KNOBS,
    "stage.knob.none.${}": KNOBS,
    "stage.knob.help.${}": KNOBS,
    "phase.${}": ("tokenizing", "lengths", "warming_up", "reference", "running", "starting"),
    "why.${}": tuple(Why),
}


_KEY = re.compile(r"""["`]((?:stage|mode|phase|line|why)\.[^"`]*)["`]""")


def sources() -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.js")}


def test_every_module_is_part_of_the_stage():
    assert set(modules()) == set(sources())


def test_a_name_is_used_at_the_top_of_one_module_only():
    top = re.compile(r"^(?:export )?(?:const|let|class|function|async function) (\w+)", re.MULTILINE)
    names = Counter(name for text in sources().values() for name in top.findall(text))
    assert [name for name, count in names.items() if count > 1] == []


def test_the_joined_text_is_one_module_that_mounts(harness):
    page = harness()
    kind = page.evaluate(
        """async (text) => {
          const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
          return typeof (await import(url)).default;
        }""",
        stage_js(),
    )
    assert kind == "function"
    assert "import " not in re.sub(r"[\"'`].*?[\"'`]", "", stage_js())


def test_every_reason_has_a_sentence():
    nothing_runs = {Reason.WINDOW_OPEN}
    assert set(DISPATCHED) | set(STAYED) | nothing_runs == set(Reason)


def test_no_text_goes_over_several_lines_because_joining_drops_indentation():
    for name, text in sources().items():
        assert all(line.count("`") % 2 == 0 for line in text.splitlines()), name


@pytest.mark.parametrize(
    "word", ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "http"]
)
def test_data_never_becomes_markup_or_code_and_nothing_outside_is_asked(word):
    allowed = "http://www.w3.org/2000/svg"  # a name, never fetched
    assert [name for name, text in sources().items() if word in text.replace(allowed, "")] == []
    assert "url(" not in stage_css()
    assert "@import" not in stage_css()


def test_no_handler_can_return_false_which_would_forbid_what_the_browser_does():
    handler = re.compile(r"on[a-z]+(?: =|:) \([^)]*\) => (?!void )(?:[^{;]*&&|[^{;]*\|\||!|\([^()]* = )[^;]*;")
    assert [(name, found) for name, text in sources().items() for found in handler.findall(text)] == []


def test_every_string_that_the_stage_uses_is_there_in_each_language():
    keys = set()
    for key in _KEY.findall("\n".join(sources().values())):
        family = re.sub(r"\$\{[^}]*\}", "${}", key)
        keys |= {family.replace("${}", member) for member in FAMILIES[family]} if "$" in key else {key}
    for language in LANGUAGES:
        assert sorted(keys - set(texts(language))) == []


def test_no_string_of_the_stage_is_left_over():
    used = "\n".join(sources().values())
    families = {family.replace("${}", member) for family, members in FAMILIES.items() for member in members}
    keys = {key for key in texts("en") if key.startswith("stage.")} - families
    assert sorted(key for key in keys if f'"{key}"' not in used) == []
