"""What the package says: its documents run, its types are right, and its version is one."""

import doctest
import importlib
import multiprocessing
import subprocess
import sys
from pathlib import Path

import corelane
import pytest

HERE = Path(__file__).parent


@pytest.mark.parametrize("name", ["", "._lanes", "._items", ".mp", "._errors"])
def test_documents(name):
    module = importlib.import_module("corelane" + name)
    result = doctest.testmod(module)
    assert result.failed == 0 and (result.attempted > 0 or name == "._errors")


def test_the_readme():
    # Its functions are in no file, which only forked children don't need.
    usual = multiprocessing.get_start_method()
    multiprocessing.set_start_method("fork", force=True)
    try:
        result = doctest.testfile(str(HERE.parent / "README.md"), module_relative=False)
    finally:
        multiprocessing.set_start_method(usual, force=True)
    assert result.failed == 0 and result.attempted > 0


def test_types():
    pytest.importorskip("mypy", reason="mypy is needed: pip install mypy")
    package = HERE.parent / "python" / "corelane"
    files = [*package.glob("*.py"), *package.glob("*.pyi"), HERE / "typed.py"]
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", *map(str, files)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=HERE)
    assert result.returncode == 0, result.stdout + result.stderr


def test_everything_public_is_documented():
    for name in corelane.__all__:
        thing = getattr(corelane, name)
        assert thing.__doc__, name
        for method, value in vars(thing).items():
            if not method.startswith("_") and callable(value):
                assert value.__doc__, f"{name}.{method}"
