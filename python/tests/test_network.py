"""Networks: ONNX files, and PyTorch where it is installed."""

import numpy as np
import pytest
from conftest import ROOT, build

import zhat

NETWORKS = ROOT / "models" / "import"


def small(build, *arguments, **options):
    with pytest.warns(zhat.ModelWarning):
        return build(*arguments, **{"progress": False, **options})


def test_a_network_makes_the_file_that_the_command_writes(command):
    inputs = np.random.default_rng(1).normal(size=(120, 4)).astype(np.float32)
    np.save(command.folder / "x.npy", inputs)
    network = NETWORKS / "gemm.onnx"
    command.run("build", "--model", str(network), "--inputs", "x.npy", "-o", "model.zhat")
    expected = (command.folder / "model.zhat").read_bytes()
    assert small(zhat.build_network, network, inputs).to_bytes() == expected
    assert small(zhat.build_network, network, command.folder / "x.npy").to_bytes() == expected


def test_a_quantised_network_brings_its_scale():
    model = small(zhat.build_network, NETWORKS / "int8.tflite", queries=np.random.default_rng(1).normal(size=(90, 6)))
    scale, zero_point = model.input_scale
    assert scale > 0 and -128 <= zero_point <= 127
    with pytest.raises(ValueError, match="leave out input_scale"):
        zhat.build_network(NETWORKS / "int8.tflite", input_scale=1e6, progress=False)


def test_what_is_no_network_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        zhat.build_network(tmp_path / "nothing.onnx")
    (tmp_path / "broken.onnx").write_bytes(b"something else")
    for path in (tmp_path / "broken.onnx", NETWORKS / "make.py", NETWORKS / "sigmoid.onnx"):
        with pytest.raises(ValueError):
            zhat.build_network(path)
    with pytest.raises(ValueError):
        zhat.build_network(NETWORKS / "gemm.onnx", np.zeros((10, 3)))
    with pytest.raises(ValueError, match="give one of them"):
        zhat.build_network(NETWORKS / "gemm.onnx", np.zeros((10, 4)), queries=np.zeros((10, 4)))
    with pytest.raises(TypeError, match="potatoes"):
        zhat.build_network(NETWORKS / "gemm.onnx", potatoes=3)


def test_a_torch_network_with_zhat_in_the_place_of_its_head():
    torch = pytest.importorskip("torch")
    torch.manual_seed(1)
    network = torch.nn.Sequential(torch.nn.Linear(12, 16), torch.nn.Tanh(), torch.nn.Linear(16, 600))
    with torch.no_grad():
        network[2].weight *= 8
    inputs = torch.randn(800, 12)
    weights, bias, queries = zhat.torch.capture(network, "2", inputs[:600].split(64))
    assert weights.shape == (600, 16) and bias.shape == (600,) and queries.shape == (600, 16)
    with torch.no_grad():
        scores = network(inputs[600:])
    np.testing.assert_allclose(queries, network[:2](inputs[:600]).detach().numpy(), rtol=1e-5)
    model = build(weights, bias, queries, work="15%")
    network[2] = zhat.torch.ZhatHead(model)
    found = network(inputs[600:])
    assert found.shape == scores.shape and torch.isfinite(found).sum() == (network[2].answers.p > 0).sum()
    agreed = (found.argmax(dim=1) == scores.argmax(dim=1)).float().mean()
    assert agreed > 0.6, agreed
    np.testing.assert_array_equal(network[2].answers.classes[:, 0], found.argmax(dim=1).numpy())
    for wrong in ("nothing", "1"):
        with pytest.raises(ValueError):
            zhat.torch.capture(network, wrong, inputs.split(64))
