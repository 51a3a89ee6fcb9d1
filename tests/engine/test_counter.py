"""A program that tells shares, line by line, read while something else runs."""

import time

import pytest

from lab.engine.counter import device_counter


@pytest.fixture
def tool(tmp_path, monkeypatch):
    """A stand-in for the device's tool, on the path: tells 99 again and again, and what it was asked."""
    program = tmp_path / "nvidia-smi"
    program.write_text(
        f'#!/bin/sh\necho "$@" > {tmp_path}/asked\nwhile true; do echo 99; echo "[N/A]"; sleep 0.02; done\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path / "asked"


def test_shares_are_read_while_the_block_runs(tool):
    with device_counter("GPU-1").reading() as shares:
        deadline = time.monotonic() + 20
        while not tool.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.1)
    assert set(shares) == {0.99}
    assert "--id=GPU-1 --query-gpu=utilization.gpu" in tool.read_text()


def test_the_tool_ends_when_the_block_fails(tool):
    with pytest.raises(ValueError, match="no"), device_counter("GPU-1").reading():
        raise ValueError("no")


def test_a_cpu_has_no_counter(engine):
    assert device_counter(None) is None
    assert engine.counter() is None


def test_without_the_tool_there_is_no_counter(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert device_counter("GPU-1") is None
