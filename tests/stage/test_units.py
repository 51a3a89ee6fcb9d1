"""The stage's pure parts, tested in JavaScript (tests/stage/units), each file's tests in one page."""

from pathlib import Path

import pytest

UNITS = sorted(path.name for path in (Path(__file__).parent / "units").glob("*.js") if path.name != "check.js")

RUN = """
async (name) => {
  const { tests } = await import(`/units/${name}`);
  const failed = [];
  for (const [sentence, test] of Object.entries(tests)) {
    try { await test(); } catch (error) { failed.push(`${sentence}: ${error.message}`); }
  }
  return { count: Object.keys(tests).length, failed };
}
"""


@pytest.mark.parametrize("name", UNITS)
def test_all_tests_of_the_file_pass(harness, name):
    result = harness().evaluate(RUN, name)
    assert result["count"] > 0
    assert result["failed"] == []
