"""Model files: kept, copied, sent, damaged; pages and plots."""

import copy
import pickle
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import zhat


def test_a_file_comes_back_as_it_was(layer, model, tmp_path):
    path = tmp_path / "model.zhat"
    model.save(path)
    copies = [zhat.load(path), zhat.load(str(path)), zhat.from_bytes(model.to_bytes()), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    for other in copies:
        assert other == model and hash(other) == hash(model) and other.build_id == model.build_id
        np.testing.assert_array_equal(other.classify(layer.queries[:20]).p, model.classify(layer.queries[:20]).p)


def test_what_the_system_refuses_is_an_os_error(model, tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing.zhat: no such file"):
        zhat.load(tmp_path / "nothing.zhat")
    with pytest.raises(IsADirectoryError):
        zhat.load(tmp_path)
    with pytest.raises(OSError):
        model.save(tmp_path / "no" / "such" / "folder.zhat")
    with pytest.raises(OSError):
        model.save(tmp_path)


def test_other_files_are_a_value_error(tmp_path):
    path = tmp_path / "model.zhat"
    for content in (b"", b"something else", bytes(1000)):
        path.write_bytes(content)
        with pytest.raises(ValueError):
            zhat.load(path)
        with pytest.raises(ValueError):
            zhat.from_bytes(content)
    with pytest.raises(TypeError):
        zhat.from_bytes("text")


def test_damage_is_found(model):
    file = model.to_bytes()
    for at in np.random.default_rng(5).integers(0, len(file), size=100):
        damaged = bytearray(file)
        damaged[at] ^= 1 << (at % 8)
        with pytest.raises(ValueError):
            zhat.from_bytes(bytes(damaged))
    for length in (0, 1, 19, 20, 63, 64, 1000, len(file) - 1):
        with pytest.raises(ValueError):
            zhat.from_bytes(file[:length])
    with pytest.raises(ValueError, match="after the end"):
        zhat.from_bytes(file + b"\0")


def test_plots_are_svg(layer, model, tmp_path):
    plots = [
        model.plot_reliability(layer.queries[500:], layer.labels[500:]),
        model.plot_cumulative(layer.queries[500:], 4),
        model.plot_error_work(layer.queries[500:560], "moments", progress=False),
    ]
    for plot in plots:
        assert ElementTree.fromstring(plot).tag.endswith("svg") and plot._repr_svg_() == plot
    plots[0].save(tmp_path / "plot.svg")
    assert (tmp_path / "plot.svg").read_text(encoding="utf-8") == plots[0]
    for wrong in (lambda: model.plot_cumulative(layer.queries, 0), lambda: model.plot_reliability(layer.queries, [1]), lambda: model.plot_error_work(layer.queries, "none")):
        with pytest.raises(ValueError):
            wrong()


def test_a_report_is_a_page(layer, model, tmp_path):
    page = model.report(layer.queries[500:], layer.labels[500:])
    assert page.startswith("<!doctype html>") and "model.zhat on 200 queries" in page and page.count("<svg") == 3
    page.save(tmp_path / "report.html")
    assert "srcdoc" in page._repr_html_()


def test_another_layer_is_refused(layer, model):
    with pytest.raises(ValueError, match="not the weights that the model was made from"):
        model.evaluate(layer.weights[::-1], layer.bias, layer.queries, progress=False)
    with pytest.raises(ValueError, match="not the biases that the model was made with"):
        model.evaluate(layer.weights, layer.bias + np.arange(1500), layer.queries, progress=False)
    for arrays in ((layer.weights[:10], None), (layer.weights, layer.bias[:10]), (None, layer.bias)):
        with pytest.raises(ValueError):
            model.evaluate(*arrays, layer.queries, progress=False)
    with pytest.raises(ValueError):
        model.evaluate()
    with pytest.raises(ValueError):
        model.evaluate(queries=layer.queries, estimators="momments")
