"""The page of the guide, followed word for word."""

import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from conftest import ROOT

PAGE = ROOT / "src" / "guide" / "python.md"


@pytest.fixture
def blocks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    blocks = re.findall(r"^```(python|console)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) > 8
    return blocks


def run(text, names):
    with warnings.catch_warnings():
        # A model that needs a warning is none for a guide.
        warnings.simplefilter("error", UserWarning)
        exec(compile(text, str(PAGE), "exec"), names)


def test_the_page_runs_as_it_stands(blocks):
    names = {}
    for kind, text in blocks:
        if kind == "python" and "import torch" not in text:
            run(text, names)
        for line in text.splitlines() if kind == "console" else []:
            # This runs in an environment that the package was installed in.
            if line != "$ pip install ./python":
                subprocess.run(line[2:], shell=True, check=True)
    for name in ("reliability.svg", "error_work.svg", "report.html", "firmware/model/words.h", "firmware/src/model/model.rs"):
        assert Path(name).exists(), name


def test_its_part_about_torch_runs_as_well(blocks):
    pytest.importorskip("torch")
    names = {}
    for _, text in (block for block in blocks if block[0] == "python"):
        run(text, names)
