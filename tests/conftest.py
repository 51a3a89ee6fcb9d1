"""The real model, loaded once for all tests that ask for it, and a cache folder that is not the user's."""

import os
import shutil

import pytest
from hypothesis import settings

from lab.engine.fetch import SMOLLM2, cache_folder
from lab.engine.loaded import let_waiting_threads_sleep, load_engine

# The same examples each time, so that a red check means that the change did it; HYPOTHESIS_PROFILE=search looks
# for new ones.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("search", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
# Browser, server and engine share two cores with whatever else runs there: one more try, and -rR tells of it.
WHOLE_PAGES = ("ui/test_browser", "ui/test_lessons")
SERVERS = ("ui/test_downloads", "ui/test_many_visitors", "run/test_engine_death")
BROWSER_ALONE = ("stage/", "report/")


@pytest.hookimpl(tryfirst=True)  # before xdist reads the marks
def pytest_collection_modifyitems(items):
    """Where tests run in two processes (-n 2 --dist loadgroup), whole pages come one after another in one of them,
    and so do those that start servers; a module's tests stay together: they share what they have set up."""
    for item in items:
        path = item.path.as_posix()
        among = {
            parts: any(f"tests/{part}" in path for part in parts) for parts in (WHOLE_PAGES, SERVERS, BROWSER_ALONE)
        }
        if any(among.values()):
            item.add_marker(pytest.mark.flaky(reruns=1))
        if item.config.pluginmanager.hasplugin("xdist"):
            group = "whole pages" if among[WHOLE_PAGES] else "servers" if among[SERVERS] else path
            item.add_marker(pytest.mark.xdist_group(group))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node, ids):
    """With pytest 9.2, xdist 3.8 lets its groups go unheard (pytest-xdist #1386): whole pages would disturb each
    other, and a module's tests would set up twice what they share."""
    if node.config.getoption("dist") == "loadgroup" and ids and not any("@" in name for name in ids):
        pytest.exit("xdist does not hear the groups of tests; use the pinned pytest and pytest-xdist", returncode=4)


let_waiting_threads_sleep()  # takes effect only before the first import of torch, which test modules do


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_tests(tmp_path_factory):
    """The user's model, if it has been fetched, in a folder where whatever else is written goes away."""
    folder = tmp_path_factory.mktemp("cache")
    fetched = cache_folder() / SMOLLM2.name
    if fetched.is_dir():
        (folder / SMOLLM2.name).symlink_to(fetched, target_is_directory=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BATCHING_LAB_CACHE", str(folder))
        yield


@pytest.fixture(scope="session")
def engine(cache_of_the_tests):
    """SmolLM2-135M-Instruct in fp32 on the CPU (fetched on first use)."""
    return load_engine("smollm2-135m", device="cpu", dtype="fp32")


@pytest.fixture(scope="session")
def chromium_path():
    """A test that needs a browser is skipped where there is none, but not in CI."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        sentence = f"no browser found; looked for {', '.join(BROWSERS)}"
        if os.environ.get("CI") == "true":
            pytest.fail(sentence)
        pytest.skip(sentence)
    return found


@pytest.fixture(scope="module")
def chromium(chromium_path):
    """A browser without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        flags = ["--disable-gpu", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        started = playwright.chromium.launch(executable_path=chromium_path, args=flags)
        yield started
        started.close()
