"""Who measures is known to other processes of this user, as long as it measures and not a moment longer."""

import subprocess
import sys
from contextlib import contextmanager

import pytest

from lab.cli.main import main
from lab.cli.progress import ProgressLine
from lab.run.measuring import measuring, someone_measures

CODE = "from lab.run.measuring import measuring\nwith measuring():\n    print('now', flush=True)\n    input()"


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("BATCHING_LAB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@contextmanager
def another_process():
    """It measures until it is told to stop, or killed."""
    with subprocess.Popen([sys.executable, "-c", CODE], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"now\n"
        yield other
        other.kill()


def test_nobody_measures_where_nobody_said_so(own_cache):
    assert not someone_measures()
    assert not own_cache.exists()


def test_a_measurement_in_another_process_is_seen_until_it_ends():
    with another_process() as other, another_process():
        assert someone_measures()
        other.communicate(b"\n")
        assert someone_measures()  # two measured
    assert not someone_measures()


def test_a_process_that_was_killed_measures_no_more_and_leaves_nothing(own_cache):
    with another_process() as other:
        other.kill()
        other.wait()
        assert not someone_measures()
    assert list((own_cache / "measuring").iterdir()) == []


def test_within_one_process_the_outer_block_counts():
    with measuring():
        with measuring():
            assert someone_measures()
        assert someone_measures()
    assert not someone_measures()


def test_a_cache_folder_that_cannot_be_written_stops_nobody_from_measuring(own_cache):
    own_cache.write_text("a file")
    with measuring():
        assert not someone_measures()


def test_a_command_that_measures_says_so_until_it_is_done():
    with ProgressLine() as progress:
        progress.hold(measuring())
        assert someone_measures()
    assert not someone_measures()


def test_pictures_are_not_drawn_beside_a_measurement_and_the_tables_are_still_written(tmp_path, capsys):
    places = ["--data", str(tmp_path / "data"), "--charts", str(tmp_path / "slides")]
    with another_process():
        assert main(["report", "assets/records/chat.json", *places]) == 2
    assert "something is being measured on this machine" in capsys.readouterr().err
    assert (tmp_path / "data" / "record.json").is_file()
    assert not (tmp_path / "slides").exists()
