"""Formats are known by the names of their columns. Small files of each, as their publishers write them."""

import io

import pytest

from lab.workload.trace.reading import Dropped, read_trace

AZURE_2023 = (
    "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
    "2023-11-16 18:15:46.6805900,374,44\r\n"
    "2023-11-16 18:15:47.1805900,396,109\r\n"
    "2023-11-16 18:15:48.6805900,879,55"
)
AZURE_2024 = (
    "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    "2024-05-10 00:00:59.500000+00:00,374,44\n"
    "2024-05-10 00:01:00+00:00,396,109\n"
    "2024-05-10 00:01:01.500000+00:00,879,55\n"
)
AZURE_2025 = (
    "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n"
    "2024-10-15T00:00:00.500Z,0,374,44\n"
    "2024-10-15T00:00:01Z,2,396,109\n"
    "2024-10-15T00:00:02.500Z,1,879,55\n"
)
BURST_GPT = (
    "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    "5,ChatGPT,374,44,418,Conversation log\n"
    "6,ChatGPT,100,0,100,Conversation log\n"
    "45,GPT-4,396,109,505,Conversation log\n"
    "45,GPT-4,879,55,934,API log\n"
)
BURST_GPT_3 = (
    "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    "5,a1,0.1,ChatGPT,374,44,418,Conversation log\n"
    "45,a1,0.2,GPT-4,396,109,505,Conversation log\n"
)
MOONCAKE = (
    '{"timestamp": 0, "input_length": 374, "output_length": 44, "hash_ids": [0, 1]}\n'
    '{"timestamp": 500, "input_length": 396, "output_length": 109, "hash_ids": [0, 2]}\n'
    '{"timestamp": 2000, "input_length": 879, "output_length": 55, "hash_ids": []}\n'
)
QWEN = (
    '{"chat_id": 1, "timestamp": 61.25, "input_length": 374, "output_length": 44, "turn": 1}\n'
    '{"chat_id": 2, "timestamp": 61.75, "input_length": 396, "output_length": 109, "turn": 1}\n'
    '{"chat_id": 3, "timestamp": 63.25, "input_length": 879, "output_length": 55, "turn": 2}\n'
)
VIDUR = "arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,374,44\n0.5,396,109\n2.0,879,55\n"
VIDUR_LENGTHS = "num_prefill_tokens,num_decode_tokens,pd_ratio\n374,44,8.5\n396,109,3.6\n879,55,16.0\n"


def read(text):
    return read_trace(io.BytesIO(text.encode()), "a.csv")


AT_HALF_SECONDS = [0, 0.5, 2]


@pytest.mark.parametrize(
    ("text", "name", "unit", "times"),
    [
        (AZURE_2023, "Azure 2023 / 2024", "date and time", AT_HALF_SECONDS),
        (AZURE_2024, "Azure 2023 / 2024", "date and time", AT_HALF_SECONDS),
        (AZURE_2025, "Azure 2025 multimodal", "date and time", AT_HALF_SECONDS),
        (BURST_GPT, "BurstGPT", "s", [0, 40, 40]),
        (BURST_GPT_3, "BurstGPT 3", "s", [0, 40]),
        (MOONCAKE, "Mooncake", "ms", AT_HALF_SECONDS),
        (QWEN, "Qwen-Bailian", "s", AT_HALF_SECONDS),
        (VIDUR, "Vidur", "s", AT_HALF_SECONDS),
        (VIDUR_LENGTHS, "Vidur, lengths only", "none", [0, 0, 0]),
    ],
)
def test_a_format_is_known_by_its_columns_and_its_times_begin_at_zero(text, name, unit, times):
    trace = read(text)
    assert (trace.format.name, trace.format.unit) == (name, unit)
    assert trace.times.tolist() == times
    assert trace.prompt.tolist() == [374, 396, 879][: len(times)]
    assert trace.output.tolist() == [44, 109, 55][: len(times)]


def test_the_order_of_columns_their_case_spaces_quotes_and_a_byte_order_mark_do_not_matter():
    mixed = '\ufeff"generatedtokens", ContextTokens ,timestamp\r\n"44",374,"2023-11-16 18:15:46.6805900"\n'
    trace = read(mixed)
    assert (trace.prompt.tolist(), trace.output.tolist()) == ([374], [44])


def test_a_failed_request_is_dropped_with_its_reason():
    trace = read(BURST_GPT)
    assert trace.dropped == {Dropped.NO_OUTPUT: 1}
    assert trace.read == 4
