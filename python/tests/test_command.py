"""The package does what the command does, to the last bit, and brings it along."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT, build

import zhat


def bits(values):
    return np.asarray(values, dtype=np.float32).view(np.uint32).tolist()


@pytest.mark.parametrize(
    "options, arguments",
    [
        ({}, ""),
        ({"work": 0.06, "cap": "20%", "seed": 7, "lookup": True}, "--work 6% --cap 20% --seed 7 --lookup"),
        ({"bits": 4, "flash": "60K"}, "--bits 4 --flash 60K"),
        ({"instructions": 20_000}, "--instructions 20k"),
        ({"deadline": "1ms", "clock": "64MHz"}, "--deadline 1ms --clock 64MHz"),
        ({"max_error": 0.1, "links": 0, "leaf": 8, "branching": 8, "blend": 0.5}, "--max-error 10% --links 0 --leaf 8 --branching 8 --blend 0.5"),
    ],
)
def test_a_model_is_the_file_that_the_command_writes(layer, command, options, arguments):
    layer.save(command.folder)
    files = "--weights weights.npy --bias bias.npy --queries queries.npy --labels labels.npy --fit-temperature"
    command.run("build", *f"{files} {arguments} -o model.zhat".split())
    model = build(layer.weights, layer.bias, layer.queries, labels=layer.labels, fit_temperature=True, **options)
    assert model.to_bytes() == (command.folder / "model.zhat").read_bytes()


def test_answers_are_those_of_the_command(layer, model, flat, command):
    layer.save(command.folder)
    for number, (model, exact) in enumerate([(model, False), (model, True), (flat, False)]):
        model.save(command.folder / f"{number}.zhat")
        option = ["--exact"] if exact else []
        said = command.json("query", f"{number}.zhat", "--query", "queries.npy", "--top", "7", *option)["answers"]
        found = model.exact(layer.queries, 7) if exact else model.classify(layer.queries, 7)
        assert len(found) == len(said) == len(layer.queries)
        for answer in said:
            # Fewer may be found than were asked for.
            answer["top"] += [{"class": -1, "p": float("nan"), "low": None, "high": None}] * (7 - len(answer["top"]))
        assert found.classes.tolist() == [[one["class"] for one in answer["top"]] for answer in said]
        assert bits(found.p) == [bits([one["p"] for one in answer["top"]]) for answer in said]
        assert bits(found.log_z) == bits([answer["log_z"] for answer in said])
        assert found.work.tolist() == [answer["work"] for answer in said]
        for name, ends in (("low", found.low), ("high", found.high)):
            own = [[None if np.isnan(end) else end.view(np.uint32) for end in row] for row in ends]
            theirs = [[one[name] if one[name] is None else np.float32(one[name]).view(np.uint32) for one in answer["top"]] for answer in said]
            assert own == theirs
        for name in ("familiar", "rejected"):
            known = getattr(found, name)
            assert [answer[name] for answer in said] == ([None] * len(said) if known is None else known.tolist())


def test_figures_are_those_of_the_command(layer, model, command):
    layer.save(command.folder)
    model.save(command.folder / "model.zhat")
    files = "--weights weights.npy --bias bias.npy --queries queries.npy --labels labels.npy"
    said = command.json("eval", "model.zhat", *files.split(), "--estimators", "exact,moments,mimps")
    found = model.evaluate(layer.weights, layer.bias, layer.queries, layer.labels, estimators="exact,moments,mimps", progress=False)
    for theirs in said["estimators"]:
        own = dict(found[theirs["name"]])
        # Times are never the same.
        for report in (own, theirs):
            report.pop("time_us"), report.pop("time_ratio_to_exact")
        assert own == theirs
    assert "moments" in str(found) and "<table>" in found._repr_html_()
    with pytest.raises(KeyError):
        found["nothing"]


def test_a_description_is_that_of_the_command(model, command):
    model.save(command.folder / "model.zhat")
    said = command.json("inspect", "model.zhat")
    said.pop("schema")
    assert json.loads(json.dumps(model.description)) == said
    assert model.flash == len(model.to_bytes()) == said["needs"]["flash"]
    assert (model.classes, model.dim, model.bits) == (1500, 20, 8)
    assert model.ram > 4 * model.scratch_words and model.instructions < model.instructions_max
    assert f"{model.flash:,}" in model._repr_html_() and "1500 classes" in repr(model)


def test_the_command_comes_with_the_package(command):
    assert command.run("--version") == f"zhat {zhat.__version__}\n"
    script = Path(sys.executable).with_name("zhat")
    script = str(script) if script.exists() else shutil.which("zhat")
    done = subprocess.run([script, "build"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "Usage: zhat build" in done.stderr
    done = subprocess.run([script, "inspect", "nothing.zhat"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr == "zhat: nothing.zhat: no such file\n"


def test_the_version_is_that_of_the_crate():
    version = re.search(r'^version = "(.*)"$', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]
    assert zhat.__version__ == version
