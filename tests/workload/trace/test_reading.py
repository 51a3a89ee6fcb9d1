"""What is no trace is refused in one sentence, a bad row is dropped and counted, and no text of a file is kept."""

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.workload.scenarios import TRACES
from lab.workload.trace import reading
from lab.workload.trace.reading import Dropped, Trace, read_trace, read_trace_file

VIDUR_HEAD = "arrived_at,num_prefill_tokens,num_decode_tokens\n"
VIDUR = VIDUR_HEAD + "0.0,374,44\n"
MOONCAKE = '{"timestamp": 0, "input_length": 374, "output_length": 44, "hash_ids": [0, 1]}\n'


def read(text: str | bytes, name="a.csv") -> Trace:
    return read_trace(io.BytesIO(text if isinstance(text, bytes) else text.encode()), name)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("1,2", Dropped.LINE),
        ("1,2,3,4", Dropped.LINE),
        ('"1,2,3', Dropped.LINE),
        ("1" * 70_000 + ",2,3", Dropped.LINE),
        ("nan,2,3", Dropped.TIME),
        ("-1,2,3", Dropped.TIME),
        ("1e308,2,3", Dropped.TIME),
        ("inf,2,3", Dropped.TIME),
        (",2,3", Dropped.TIME),
        ("2023-11-16,2,3", Dropped.TIME),
        ("1_0,2,3", Dropped.TIME),
        ("1,=1+1,3", Dropped.PROMPT),
        ("1,<script>alert(1)</script>,3", Dropped.PROMPT),
        ("1,-5,3", Dropped.PROMPT),
        ("1,2.5,3", Dropped.PROMPT),
        ("1,1000001,3", Dropped.PROMPT),
        ("1,2\0,3", Dropped.PROMPT),
        ("1,2,NaN", Dropped.OUTPUT),
        ("1,2,True", Dropped.OUTPUT),
        ("1,2,1e400", Dropped.OUTPUT),
        ("1,0,3", Dropped.NO_PROMPT),
        ("1,0,0", Dropped.NO_PROMPT),
        ("1,2,0", Dropped.NO_OUTPUT),
    ],
)
def test_a_bad_row_costs_itself_alone_and_says_why(row, why):
    trace = read(f"{VIDUR_HEAD}0,7,8\n{row}\n\n3,9,10\n")
    assert trace.dropped == {why: 1}
    assert trace.read == 3
    assert trace.prompt.tolist() == [7, 9]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", Dropped.LINE),
        ("[1, 2, 3]", Dropped.LINE),
        ("[" * 50_000, Dropped.LINE),
        ('{"timestamp": 1, "input_length": 2}', Dropped.OUTPUT),
        ('{"timestamp": true, "input_length": 2, "output_length": 3}', Dropped.TIME),
        ('{"timestamp": 1, "input_length": [2], "output_length": 3}', Dropped.PROMPT),
        ('{"timestamp": 1, "input_length": ' + "9" * 5000 + ', "output_length": 3}', Dropped.LINE),
        ('{"timestamp": 1, "input_length": ' + "9" * 400 + ', "output_length": 3}', Dropped.PROMPT),
        ('{"timestamp": 1, "input_length": 2, "output_length": Infinity}', Dropped.OUTPUT),
    ],
)
def test_a_bad_line_of_json_costs_itself_alone(line, why):
    trace = read(MOONCAKE + line)
    assert trace.dropped == {why: 1}
    assert len(trace.times) == 1


def test_a_byte_that_is_no_utf8_costs_its_row_alone():
    assert read(VIDUR_HEAD.encode() + b"0,7,8\n1,\xff,3\n").dropped == {Dropped.PROMPT: 1}


def test_rows_out_of_order_are_sorted_and_counted_and_equal_times_keep_the_files_order():
    trace = read(VIDUR_HEAD + "5,1,1\n3,2,1\n3,3,1\n9,4,1\n3,5,1\n")
    assert trace.times.tolist() == [0, 0, 0, 2, 6]
    assert trace.prompt.tolist() == [2, 3, 5, 1, 4]
    assert trace.moved == 2


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "x.csv is empty"),
        (b"\n \n", "x.csv is empty"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is not UTF-8 text"),
        (VIDUR.encode("utf-16"), "is not UTF-8 text"),
        (b"\x1f\x8b\x08\0\0", "is not UTF-8 text"),
        (VIDUR_HEAD.encode(), "no usable row: its first line is all there is"),
        (VIDUR_HEAD.encode() + b"x,2,3\n1,0,3\n", "1 × time unreadable, 1 × no prompt tokens"),
        (b"a;b;c\n1;2;3\n", "has the columns a_b_c; a trace has timestamp, contexttokens"),
        (b"<script>alert(1)</script>\n1\n", "has the columns"),
        (b"=cmd|' /C calc'!A0,b\n1\n", "has the columns cmd_ _C calc_A0, b;"),
        (b",".join(b"c%d" % i for i in range(10**6)), "has a first line of 7,888,889 characters"),
        (b"[{}]", "has the columns of no table"),
        (b"{broken", "has the columns of no table"),
        (
            b"arrived_at,arrived_at,num_prefill_tokens,num_decode_tokens\n1,1,1,1",
            "has the column arrived_at 2 times",
        ),
    ],
    ids=lambda value: None if isinstance(value, bytes) else value[:30],
)
def test_what_is_no_trace_is_refused_in_one_sentence_that_repeats_no_markup(data, says):
    with pytest.raises(ValueError, match=r"^x\.csv ") as refusal:
        read(data, "../x.csv")
    sentence = str(refusal.value)
    assert says in sentence
    assert len(sentence) < 600
    assert not set("<>\n\r\0\x1b=|") & set(sentence)


def test_a_huge_file_is_refused_by_its_size_before_it_is_read(tmp_path, monkeypatch):
    huge = tmp_path / "huge.csv"
    with huge.open("wb") as file:
        file.truncate(10**9)  # a hole: it takes no room on the disk
    monkeypatch.setattr(Path, "open", lambda *_: pytest.fail("it was opened"))
    with pytest.raises(ValueError, match=r"huge\.csv has more than 64 MiB"):
        read_trace_file(huge)


def test_of_an_endless_upload_no_more_than_the_bound_is_read():
    class Endless(io.RawIOBase):
        taken = 0

        def read(self, size=-1):
            assert 0 <= size <= reading.MOST_BYTES + 1
            self.taken += size
            return bytes(size)

    upload = Endless()
    with pytest.raises(ValueError, match="has more than 64 MiB"):
        read_trace(upload, "endless.csv")
    assert upload.taken <= reading.MOST_BYTES + 1


def test_too_many_lines_are_refused(monkeypatch):
    monkeypatch.setattr(reading, "MOST_ROWS", 3)
    assert read(VIDUR_HEAD + "1,1,1\n" * 3).read == 3
    with pytest.raises(ValueError, match="has more than 3 lines"):
        read(VIDUR_HEAD + "1,1,1\n" * 4)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    for path in (tmp_path, tmp_path / "none.csv"):
        with pytest.raises(ValueError, match="is not a file; give a trace"):
            read_trace_file(path)


@pytest.mark.parametrize("given", ["=HYPERLINK(1).csv", "<img onerror=x>.csv", "../../passwd", "\x1b[31m.csv", "-"])
def test_a_files_name_is_kept_without_markup_formula_or_path(given):
    name = read(VIDUR, given).name
    assert name
    assert all(c.isalnum() or c in " ._-" for c in name)
    assert not name.startswith(("=", "+", "-", "@", "."))


@given(st.binary(max_size=300))
def test_any_bytes_become_a_trace_or_are_refused(data):
    for text in (data, VIDUR_HEAD.encode() + data, MOONCAKE.encode() + data):
        try:
            trace = read(text)
        except ValueError:
            continue
        assert trace.read == len(trace.times) + sum(trace.dropped.values())
        assert trace.times[0] == 0
        assert (np.diff(trace.times) >= 0).all()
        assert min(trace.prompt.min(), trace.output.min()) >= 1


@pytest.mark.parametrize(
    ("file", "span", "prompt_mean", "output_mean"),
    [
        ("azure2023_conv_from_60s.csv", 57.795626, 911.81, 290.20),
        ("azure2023_code_from_840s.csv", 12.114066, 2281.84, 19.60),
    ],
)
def test_the_shipped_slices_hold_what_their_source_holds(file, span, prompt_mean, output_mean):
    trace = read_trace_file(TRACES / file)
    assert (trace.read, trace.dropped, trace.moved) == (256, {}, 0)
    assert trace.span == pytest.approx(span, abs=1e-6)
    assert trace.prompt.mean() == pytest.approx(prompt_mean, abs=0.005)
    assert trace.output.mean() == pytest.approx(output_mean, abs=0.005)
