import csv
import io
from dataclasses import fields

import pytest

from lab.analysis.answers import answer_texts
from lab.analysis.metrics import LaneMetrics, Slo
from lab.analysis.tables import METRICS_COLUMNS, REQUESTS_COLUMNS, csv_text, metrics_table, requests_table


def small_record(by_hand, texts=("Hello", "Bye"), **known):
    workload = by_hand.workload([1, 3], texts=list(texts))
    static = by_hand.lane(by_hand.mode("static", 2), by_hand.padded_batch([1, 3]))
    none = by_hand.lane(by_hand.mode("none"), by_hand.stream([0.5]), refused=[(1, "needs 6 tokens")])
    return by_hand.record(workload, static, none, **known)


def test_the_metrics_table_has_a_row_a_lane_with_its_knobs_and_numbers(by_hand):
    static, none = metrics_table(small_record(by_hand), Slo(ttft=1.0))
    assert list(static)[: len(METRICS_COLUMNS)] == list(METRICS_COLUMNS)
    assert (static["lane"], static["max_batch_size"], static["max_queue_delay_s"]) == ("static", 2, None)
    assert (none["max_queue_delay_s"], none["padded"]) == (0.0, False)
    assert static["throughput_tokens_per_s"] == pytest.approx(4 / 3)
    assert (static["ttft_p50_s"], static["ttft_n"], static["e2e_max_s"]) == (1.0, 2, 3.0)
    assert (none["tpot_p50_s"], none["tpot_n"], none["refused"]) == (None, 0, 1)
    assert static["goodput_requests_per_s"] == pytest.approx(2 / 3)


def test_the_requests_table_has_a_row_for_each_request_of_each_lane(by_hand):
    rows = requests_table(small_record(by_hand))
    assert [(r["lane"], r["request"], r["status"]) for r in rows] == [
        ("static", 0, "finished"), ("static", 1, "finished"), ("none", 0, "finished"), ("none", 1, "refused"),
    ]  # fmt: skip
    assert all(list(r) == list(REQUESTS_COLUMNS) for r in rows)
    assert (rows[0]["tpot_s"], rows[1]["tpot_s"], rows[1]["e2e_s"]) == (None, 1.0, 3.0)
    assert (rows[3]["refusal"], rows[3]["ttft_s"], rows[3]["prompt"]) == ("needs 6 tokens", None, "Bye")


def test_csv_has_empty_cells_for_what_is_undefined_and_reads_back(by_hand):
    rows = requests_table(small_record(by_hand))
    back = list(csv.DictReader(io.StringIO(csv_text(rows))))
    assert len(back) == 4
    assert back[0]["tpot_s"] == ""
    assert float(back[1]["tpot_s"]) == rows[1]["tpot_s"]
    for bad in ("None", "nan", "inf"):
        assert bad not in csv_text(rows).split("\n", 1)[1]
        assert bad not in csv_text(metrics_table(small_record(by_hand))).split("\n", 1)[1]
    assert csv_text([]) == ""


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", ' ="x"'])
def test_a_prompt_that_a_spreadsheet_would_run_gets_an_apostrophe(by_hand, text):
    record = small_record(by_hand, texts=(text, 'plain, "quoted"\nand two lines'))
    back = list(csv.DictReader(io.StringIO(csv_text(requests_table(record)), newline="")))
    assert back[0]["prompt"] == "'" + text
    assert back[1]["prompt"] == 'plain, "quoted"\nand two lines'


def test_negative_numbers_stay_numbers():
    assert csv_text([{"a": -1.5, "b": None, "c": True}]) == "a,b,c\n-1.5,,True\n"


def test_every_metric_has_a_column(by_hand):
    (row, _) = metrics_table(small_record(by_hand))
    for field in fields(LaneMetrics):
        assert any(name.startswith(field.name) for name in row), field.name


def test_answers_are_read_from_the_bytes_of_their_tokens(by_hand):
    """A mark of two bytes comes in two tokens; the last answer is cut within a character; 101 is special."""
    known = ((0, "c3"), (1, "a4"), (100, "68 69".replace(" ", "")), (101, ""), (102, "f0"))
    workload = by_hand.workload([2, 3])
    lane = by_hand.lane(by_hand.mode("static", 2), by_hand.padded_batch([2, 3]))
    record = by_hand.record(workload, lane, token_bytes=known)
    assert answer_texts(record, lane) == {0: "ä", 1: "hi\ufffd"}
    assert requests_table(record)[0]["answer"] == "ä"


def test_without_bytes_there_is_no_text(by_hand):
    record = small_record(by_hand)
    assert answer_texts(record, record.lanes[0]) == {}
    assert requests_table(record)[0]["answer"] is None
