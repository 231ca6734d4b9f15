"""Makes the small networks that the tests of the importer read, all with the same output layer.

    pip install numpy onnx ai-edge-litert
    python make.py

A body of four inputs and six features stands before a layer of 40 classes. What differs is how an exporter might write
the layer down. `weights.npy` and `bias.npy` hold the layer itself. For the .tflite files there are also int8 activations,
and what TensorFlow Lite's own kernel makes of them.
"""

import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CLASSES, FEATURES, INPUTS = 40, 6, 4
random = np.random.default_rng(1)
BODY = random.normal(size=(INPUTS, FEATURES)).astype(np.float32)
WEIGHTS = random.normal(size=(CLASSES, FEATURES)).astype(np.float32)
BIAS = random.normal(size=CLASSES).astype(np.float32)


def tensor(name, values):
    return numpy_helper.from_array(np.asarray(values), name)


def node(op, inputs, output, name=None, **attributes):
    return helper.make_node(op, inputs.split(), output.split(), name=name or output.split()[0] + "_node", **attributes)


def save(name, nodes, tensors, inputs=None, outputs=None, opset=17, external=False):
    inputs = inputs or {"x": (TensorProto.FLOAT, ["batch", INPUTS])}
    outputs = outputs or {"y": ["batch", CLASSES]}
    graph = helper.make_graph(
        nodes,
        name,
        [helper.make_tensor_value_info(key, kind, shape) for key, (kind, shape) in inputs.items()],
        [helper.make_tensor_value_info(key, TensorProto.FLOAT, shape) for key, shape in outputs.items()],
        tensors,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    if name != "unknown_operator":
        onnx.checker.check_model(model)
    if external:
        if os.path.exists(f"{name}.bin"):
            os.remove(f"{name}.bin")
        onnx.save(model, f"{name}.onnx", save_as_external_data=True, location=f"{name}.bin", size_threshold=256)
    else:
        onnx.save(model, f"{name}.onnx")


def body():
    return [node("MatMul", "x body", "product"), node("Relu", "product", "q")]


def quantised(values, axis):
    """int8 values and a scale for each row of an axis, the largest value 127."""
    other = tuple(i for i in range(values.ndim) if i != axis)
    scale = (np.abs(values).max(axis=other) / 127).astype(np.float32)
    shape = [-1 if i == axis else 1 for i in range(values.ndim)]
    return np.clip(np.round(values / scale.reshape(shape)), -127, 127).astype(np.int8), scale


def softmax(scores="s"):
    return [node("Softmax", scores, "y", axis=-1)]


def main():
    np.save("weights.npy", WEIGHTS)
    np.save("bias.npy", BIAS)
    weights, bias, base = tensor("fc.weight", WEIGHTS), tensor("fc.bias", BIAS), tensor("body", BODY)
    across = tensor("fc.weight", np.ascontiguousarray(WEIGHTS.T))

    save("gemm", [*body(), node("Gemm", "q fc.weight fc.bias", "s", "fc", transB=1), *softmax()], [base, weights, bias])
    save(
        "gemm_factor",
        [*body(), node("Gemm", "q fc.weight fc.bias", "g", "fc", alpha=0.5, beta=0.25), node("Mul", "g two", "y")],
        [base, across, tensor("fc.bias", (BIAS * 2).reshape(1, -1)), tensor("two", np.float32(2))],
    )
    steps = {"x": (TensorProto.FLOAT, ["batch", "steps", INPUTS])}
    save(
        "matmul_add",
        [
            *body(),
            node("MatMul", "q fc.weight", "m", "fc"),
            node("Add", "fc.bias m", "s"),
            node("LogSoftmax", "s", "y", axis=-1),
        ],
        [base, across, bias],
        steps,
        {"y": ["batch", "steps", CLASSES]},
    )
    save(
        "conv",
        [
            node("Conv", "x body", "product"),
            node("Relu", "product", "q"),
            node("Conv", "q fc.weight fc.bias", "s", "fc", kernel_shape=[1, 1]),
            node("Softmax", "s", "y", axis=1),
        ],
        [
            tensor("body", np.ascontiguousarray(BODY.T)[:, :, None, None]),
            tensor("fc.weight", WEIGHTS[:, :, None, None]),
            bias,
        ],
        {"x": (TensorProto.FLOAT, ["batch", INPUTS, "height", "width"])},
        {"y": ["batch", CLASSES, "height", "width"]},
    )
    save(
        "half",
        [
            *body(),
            node("Cast", "fc.weight", "w", to=TensorProto.FLOAT),
            node("Cast", "fc.bias", "b", to=TensorProto.FLOAT),
            node("Gemm", "q w b", "s", "fc", transB=1),
            *softmax(),
        ],
        [base, tensor("fc.weight", WEIGHTS.astype(np.float16)), tensor("fc.bias", BIAS.astype(np.float16))],
    )
    ints, scales = quantised(WEIGHTS, 0)
    step = np.float32(0.05)
    save(
        "qdq",
        [
            *body(),
            node("QuantizeLinear", "q step zero", "q_int8"),
            node("DequantizeLinear", "q_int8 step zero", "q_float"),
            node("DequantizeLinear", "fc.weight scales zeros", "w", axis=0),
            node("DequantizeLinear", "fc.bias bias_scales bias_zeros", "b", axis=0),
            node("Gemm", "q_float w b", "s", "fc", transB=1),
            *softmax(),
        ],
        [
            base,
            tensor("fc.weight", ints),
            tensor("scales", scales),
            tensor("zeros", np.zeros(CLASSES, np.int8)),
            tensor("fc.bias", np.round(BIAS / (scales * step)).astype(np.int32)),
            tensor("bias_scales", scales * step),
            tensor("bias_zeros", np.zeros(CLASSES, np.int32)),
            tensor("step", step),
            tensor("zero", np.int8(-100)),
        ],
    )
    scale = np.float32(np.abs(WEIGHTS).max() / 127)
    save(
        "dynamic",
        [
            *body(),
            node("DynamicQuantizeLinear", "q", "q_uint8 q_scale q_zero"),
            node("MatMulInteger", "q_uint8 fc.weight q_zero w_zero", "m", "fc"),
            node("Cast", "m", "m_float", to=TensorProto.FLOAT),
            node("Mul", "q_scale w_scale", "scale"),
            node("Mul", "m_float scale", "scaled"),
            node("Add", "scaled fc.bias", "s"),
            *softmax(),
        ],
        [
            base,
            tensor("fc.weight", np.round(WEIGHTS.T / scale).astype(np.int8)),
            tensor("w_zero", np.int8(0)),
            tensor("w_scale", scale),
            bias,
        ],
    )
    save(
        "written_out",
        [
            *body(),
            node("MatMul", "q fc.weight", "m", "fc"),
            node("Add", "m fc.bias", "s"),
            node("ReduceMax", "s", "most", axes=[-1], keepdims=1),
            node("Sub", "s most", "less"),
            node("Exp", "less", "exp"),
            node("ReduceSum", "exp axes", "sum", keepdims=1),
            node("Div", "exp sum", "y"),
        ],
        [base, across, bias, tensor("axes", np.array([-1], np.int64))],
    )
    # As a language model: the weights of the layer are those of the first one, and a mask says what is padding.
    save(
        "tied",
        [
            node("Gather", "fc.weight ids", "embedded"),
            node("Cast", "mask", "mask_float", to=TensorProto.FLOAT),
            node("Unsqueeze", "mask_float last", "mask_column"),
            node("Mul", "embedded mask_column", "masked"),
            node("Tanh", "masked", "q"),
            node("Transpose", "fc.weight", "w", perm=[1, 0]),
            node("MatMul", "q w", "m", "fc"),
            node("Add", "m fc.bias", "y"),
        ],
        [weights, bias, tensor("last", np.array([-1], np.int64))],
        {"ids": (TensorProto.INT64, ["batch", "steps"]), "mask": (TensorProto.INT64, ["batch", "steps"])},
        {"y": ["batch", "steps", CLASSES]},
    )
    save("external", [*body(), node("Gemm", "q fc.weight fc.bias", "y", "fc", transB=1)], [base, weights, bias], external=True)
    save(
        "sigmoid",
        [*body(), node("Gemm", "q fc.weight fc.bias", "s", "fc", transB=1), node("Sigmoid", "s", "y", "squash")],
        [base, weights, bias],
    )
    save(
        "two_outputs",
        [
            *body(),
            node("Gemm", "q fc.weight fc.bias", "y", "fc", transB=1),
            node("Gemm", "q other.weight", "z", "other", transB=1),
        ],
        [base, weights, bias, tensor("other.weight", WEIGHTS[:10])],
        outputs={"y": ["batch", CLASSES], "z": ["batch", 10]},
    )
    save(
        "unknown_operator",
        [
            node("MatMul", "x body", "product"),
            node("Frobnicate", "product", "q", "frob"),
            node("Gemm", "q fc.weight fc.bias", "y", "fc", transB=1),
        ],
        [base, weights, bias],
    )


def direct():
    """A layer that takes the network's input as it is."""
    across = np.ascontiguousarray(WEIGHTS.T)
    save(
        "logistic",
        [node("Gemm", "x fc.weight fc.bias", "s", "fc"), *softmax()],
        [tensor("fc.weight", across[:INPUTS]), tensor("fc.bias", BIAS)],
    )


def save_tflite(name, tensors, operators):
    """Tensors are (name, shape, type, data, scales, zero point); operators are (code, inputs, outputs)."""
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    model, graph = schema.ModelT(), schema.SubGraphT()
    model.version, model.description = 3, name
    model.buffers, graph.tensors = [schema.BufferT()], []
    for key, shape, kind, data, scales, zero in tensors:
        tensor = schema.TensorT()
        tensor.name, tensor.shape, tensor.type, tensor.buffer = key, list(shape), kind, 0
        if data is not None:
            tensor.buffer = len(model.buffers)
            model.buffers.append(schema.BufferT())
            model.buffers[-1].data = np.frombuffer(data.tobytes(), np.uint8)
        if scales is not None:
            tensor.quantization = schema.QuantizationParametersT()
            tensor.quantization.scale = np.atleast_1d(scales).astype(np.float32)
            tensor.quantization.zeroPoint = np.full(np.size(scales), zero, np.int64)
        graph.tensors.append(tensor)
    codes = sorted({code for code, _, _ in operators})
    model.operatorCodes = []
    for code in codes:
        model.operatorCodes.append(schema.OperatorCodeT())
        model.operatorCodes[-1].builtinCode = model.operatorCodes[-1].deprecatedBuiltinCode = code
        # Weights with a scale for each class came with version 5.
        model.operatorCodes[-1].version = 5 if code == schema.BuiltinOperator.FULLY_CONNECTED else 1
    graph.operators = []
    for code, inputs, outputs in operators:
        operator = schema.OperatorT()
        operator.opcodeIndex, operator.inputs, operator.outputs = codes.index(code), inputs, outputs
        if code == schema.BuiltinOperator.FULLY_CONNECTED:
            operator.builtinOptionsType = schema.BuiltinOptions.FullyConnectedOptions
            operator.builtinOptions = schema.FullyConnectedOptionsT()
        else:
            operator.builtinOptionsType = schema.BuiltinOptions.SoftmaxOptions
            operator.builtinOptions = schema.SoftmaxOptionsT()
            operator.builtinOptions.beta = 1.0
        graph.operators.append(operator)
    graph.inputs, graph.outputs = [operators[0][1][0]], [operators[-1][2][0]]
    model.subgraphs = [graph]
    builder = flatbuffers.Builder(4096)
    builder.Finish(model.Pack(builder), b"TFL3")
    with open(f"{name}.tflite", "wb") as file:
        file.write(builder.Output())


def tflite():
    from ai_edge_litert import schema_py_generated as schema
    from ai_edge_litert.interpreter import Interpreter

    kinds, ops = schema.TensorType, schema.BuiltinOperator
    save_tflite(
        "float",
        [
            ("q", (1, FEATURES), kinds.FLOAT32, None, None, 0),
            ("fc.weight", WEIGHTS.shape, kinds.FLOAT32, WEIGHTS, None, 0),
            ("fc.bias", BIAS.shape, kinds.FLOAT32, BIAS, None, 0),
            ("fc", (1, CLASSES), kinds.FLOAT32, None, None, 0),
            ("y", (1, CLASSES), kinds.FLOAT32, None, None, 0),
        ],
        [(ops.FULLY_CONNECTED, [0, 1, 2], [3]), (ops.SOFTMAX, [3], [4])],
    )
    step, zero = np.float32(0.02), -100
    activations = np.clip(np.round(random.exponential(size=(200, FEATURES)) / step) + zero, -128, 127).astype(np.int8)
    np.save("activations.npy", activations)
    per_class, class_scales = quantised(WEIGHTS, 0)
    one = np.float32(np.abs(WEIGHTS).max() / 127)
    layers = {"int8_per_class": (per_class, class_scales), "int8": (np.round(WEIGHTS / one).astype(np.int8), one)}
    for name, (weights, scales) in layers.items():
        bias = np.round(BIAS / (scales * step)).astype(np.int32)
        save_tflite(
            name,
            [
                ("q", (1, FEATURES), kinds.INT8, None, step, zero),
                ("fc.weight", weights.shape, kinds.INT8, weights, scales, 0),
                ("fc.bias", bias.shape, kinds.INT32, bias, scales * step, 0),
                ("fc", (1, CLASSES), kinds.INT8, None, np.float32(0.15), 0),
            ],
            [(ops.FULLY_CONNECTED, [0, 1, 2], [3])],
        )
        np.save(f"{name}_values.npy", weights.astype(np.float32))
        interpreter = Interpreter(model_path=f"{name}.tflite")
        interpreter.allocate_tensors()
        scores = np.zeros((len(activations), CLASSES), np.float32)
        for i, query in enumerate(activations):
            interpreter.set_tensor(interpreter.get_input_details()[0]["index"], query[None])
            interpreter.invoke()
            scores[i] = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])[0]
        np.save(f"{name}_scores.npy", scores.astype(np.float16))


if __name__ == "__main__":
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    main()
    direct()
    tflite()
