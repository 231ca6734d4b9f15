//! What stands behind the layer of a network: taken in where p stays a softmax of scores, and refused where it does not.
//!
//! Networks are written as lines, one for each node: `Softmax(s) -> y axis=-1`. A body of two inputs leads to the query q, and
//! `Gemm(q, W, b) -> s` is the layer, called fc.
#![cfg(feature = "std")]

use zhat::host::input::network::{Onnx, OutputLayer, as_partial};

const CLASSES: usize = 12;
const DIM: usize = 3;
const LAYER: &str = "Gemm(q, W, b) -> s transB=1";
/// The same for each step of a sequence.
const STEPS: &str = "MatMul(q, Wt) -> m\nAdd(m, b) -> s";

/// Values of a tensor.
enum Data {
    Floats(Vec<f32>),
    Longs(Vec<i64>),
    Bytes(i64, Vec<i8>),
    Words(Vec<i32>),
    Booleans(Vec<bool>),
}

fn weights() -> Vec<f32> {
    (0..CLASSES * DIM).map(|i| (i as f32 * 0.7).sin()).collect()
}

fn biases() -> Vec<f32> {
    (0..CLASSES).map(|i| (i as f32 * 1.3).cos()).collect()
}

fn vector() -> Vec<f32> {
    (0..CLASSES).map(|i| 0.5 + 0.25 * i as f32).collect()
}

fn mask() -> Vec<f32> {
    (0..CLASSES).map(|i| f32::from(i % 3 != 0)).collect()
}

/// The tensors that nodes may name.
fn tensors() -> Vec<(&'static str, Vec<i64>, Data)> {
    let transposed = (0..CLASSES * DIM).map(|i| weights()[i % CLASSES * DIM + i / CLASSES]).collect();
    let (n, d) = (CLASSES as i64, DIM as i64);
    let quantised = |by_class: bool| {
        let at = |i: usize| if by_class { i } else { i % CLASSES * DIM + i / CLASSES };
        (0..CLASSES * DIM).map(|i| (weights()[at(i)] * 100.0).round() as i8).collect()
    };
    vec![
        ("body", vec![2, d], Data::Floats((0..2 * DIM).map(|i| (i as f32).cos()).collect())),
        ("W", vec![n, d], Data::Floats(weights())),
        ("Wt", vec![d, n], Data::Floats(transposed)),
        ("Wc", vec![n, d, 1], Data::Floats(weights())),
        ("b", vec![n], Data::Floats(biases())),
        ("column", vec![n, 1], Data::Floats(biases())),
        ("v", vec![n], Data::Floats(vector())),
        ("mask", vec![n], Data::Floats(mask())),
        ("kept", vec![n], Data::Booleans(mask().iter().map(|&m| m != 0.0).collect())),
        ("two", vec![], Data::Floats(vec![2.0])),
        ("one", vec![], Data::Floats(vec![1.0])),
        ("hundred", vec![], Data::Floats(vec![100.0])),
        ("half", vec![], Data::Floats(vec![0.5])),
        ("low", vec![], Data::Floats(vec![-1e9])),
        ("tiny", vec![], Data::Floats(vec![1e-12])),
        ("some", vec![], Data::Floats(vec![0.1])),
        ("per_step", vec![5], Data::Floats(vec![1.0, 2.0, 3.0, 4.0, 5.0])),
        ("last", vec![1], Data::Longs(vec![-1])),
        ("steps", vec![1], Data::Longs(vec![1])),
        ("five", vec![1], Data::Longs(vec![5])),
        ("groups", vec![3], Data::Longs(vec![-1, 3, 4])),
        ("rows", vec![2], Data::Longs(vec![-1, n])),
        ("flat", vec![2], Data::Longs(vec![0, -1])),
        ("picked", vec![3], Data::Longs(vec![7, 2, 4])),
        ("mixture", vec![n, n], Data::Floats(vec![1.0 / CLASSES as f32; CLASSES * CLASSES])),
        ("Wq", vec![d, n], Data::Bytes(3, quantised(false))),
        ("WqN", vec![n, d], Data::Bytes(3, quantised(true))),
        ("Wqc", vec![n, d, 1], Data::Bytes(3, quantised(true))),
        ("w_scale", vec![], Data::Floats(vec![0.01])),
        ("w_zero", vec![], Data::Bytes(3, vec![0])),
        ("q_scale", vec![], Data::Floats(vec![0.05])),
        ("q_zero", vec![], Data::Bytes(3, vec![-100])),
        ("y_scale", vec![], Data::Floats(vec![0.1])),
        ("y_zero", vec![], Data::Bytes(3, vec![0])),
        ("u_zero", vec![], Data::Bytes(2, vec![0])),
        (
            "W3",
            vec![1, d, n],
            Data::Floats((0..CLASSES * DIM).map(|i| weights()[i % CLASSES * DIM + i / CLASSES]).collect()),
        ),
        ("bq", vec![n], Data::Words(biases().iter().map(|b| (b / (0.05 * 0.01)).round() as i32).collect())),
    ]
}

/// A field of a protocol buffer that is a message, a text or bytes.
fn bytes(number: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    varint(&mut out, content.len() as u64);
    out.extend(content);
    out
}

fn int(number: u8, value: i64) -> Vec<u8> {
    let mut out = Vec::new();
    varint(&mut out, u64::from(number) << 3);
    varint(&mut out, value.cast_unsigned());
    out
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn tensor(name: &str, shape: &[i64], data: &Data) -> Vec<u8> {
    let (kind, raw): (i64, Vec<u8>) = match data {
        Data::Floats(values) => (1, values.iter().flat_map(|value| value.to_le_bytes()).collect()),
        Data::Longs(values) => (7, values.iter().flat_map(|value| value.to_le_bytes()).collect()),
        Data::Words(values) => (6, values.iter().flat_map(|value| value.to_le_bytes()).collect()),
        Data::Bytes(kind, values) => (*kind, values.iter().map(|value| value.cast_unsigned()).collect()),
        Data::Booleans(values) => (9, values.iter().map(|&value| u8::from(value)).collect()),
    };
    let shape: Vec<u8> = shape.iter().flat_map(|&length| int(1, length)).collect();
    [shape, int(2, kind), bytes(8, name.as_bytes()), bytes(9, &raw)].concat()
}

/// What is known of a value: a letter is a length that varies.
fn value(name: &str, kind: i64, shape: &str) -> Vec<u8> {
    let axis = |length: &str| match length.parse::<i64>() {
        Ok(length) => bytes(1, &int(1, length)),
        Err(_) => bytes(1, &bytes(2, length.as_bytes())),
    };
    let shape: Vec<u8> = shape.split_whitespace().flat_map(axis).collect();
    let kind = bytes(1, &[int(1, kind), bytes(2, &shape)].concat());
    [bytes(1, name.as_bytes()), bytes(2, &kind)].concat()
}

/// `Softmax(s) -> y axis=-1`, or `com.domain:Softmax(s) -> y`.
fn node(line: &str) -> Vec<u8> {
    let (call, rest) = line.split_once(") -> ").unwrap();
    let (op, inputs) = call.split_once('(').unwrap();
    let (domain, op) = op.split_once(':').unwrap_or(("", op));
    let mut parts = rest.split_whitespace();
    let output = parts.next().unwrap();
    let name = if matches!(output, "s" | "m") || op.starts_with('Q') && op != "QuantizeLinear" { "fc" } else { output };
    let mut out: Vec<u8> = inputs.split(", ").filter(|i| !i.is_empty()).flat_map(|i| bytes(1, i.as_bytes())).collect();
    out.extend(output.split(',').flat_map(|output| bytes(2, output.as_bytes())));
    out.extend([bytes(3, name.as_bytes()), bytes(4, op.as_bytes()), bytes(7, domain.as_bytes())].concat());
    for attribute in parts {
        let (name, value) = attribute.split_once('=').unwrap();
        let content = match value.strip_prefix('[') {
            Some(list) => {
                let list = list.trim_end_matches(']').split(',').flat_map(|n| int(8, n.parse().unwrap()));
                [list.collect(), int(20, 7)].concat()
            }
            None if value.starts_with('\'') => [bytes(4, value.trim_matches('\'').as_bytes()), int(20, 3)].concat(),
            None => [int(3, value.parse().unwrap()), int(20, 2)].concat(),
        };
        out.extend(bytes(5, &[bytes(1, name.as_bytes()), content].concat()));
    }
    out
}

/// A network with this input, these nodes and these outputs.
fn network(opset: i64, input: &str, nodes: &str, outputs: &[(&str, &str)]) -> Onnx {
    let lines = format!("MatMul(x, body) -> product\nRelu(product) -> q\n{nodes}");
    let mut graph: Vec<u8> = lines.lines().flat_map(|line| bytes(1, &node(line.trim()))).collect();
    graph.extend(tensors().iter().flat_map(|(name, shape, data)| bytes(5, &tensor(name, shape, data))));
    graph.extend(bytes(11, &value("x", 1, input)));
    graph.extend(outputs.iter().flat_map(|(name, shape)| bytes(12, &value(name, 1, shape))));
    let file = [int(1, 8), bytes(7, &graph), bytes(8, &int(2, opset))].concat();
    Onnx::from_bytes("net.onnx", file).unwrap()
}

fn refusal(opset: i64, input: &str, nodes: &str) -> String {
    let network = network(opset, input, nodes, &[("y", "a b")]);
    match network.layer(None) {
        Ok(layer) => panic!("{nodes}: taken as {}", layer.taken),
        Err(refused) => refused.to_string(),
    }
}

/// The layer of a network of a plain batch, without a word of what is left out.
fn layer(nodes: &str) -> OutputLayer {
    let found = network(13, "batch 2", nodes, &[("y", "a b")]).layer(None);
    let found = found.unwrap_or_else(|refused| panic!("{nodes}: {refused}"));
    assert_eq!(found.left_out, None, "{nodes}");
    found
}

fn assert_is(found: &OutputLayer, factor: impl Fn(usize) -> f32, bias: impl Fn(usize) -> f32, nodes: &str) {
    for class in 0..CLASSES {
        for (found, own) in found.weights.row(class).iter().zip(&weights()[class * DIM..]) {
            assert!((found - own * factor(class)).abs() < 1e-5, "{nodes}: weight of class {class}");
        }
        let (found, expected) = (found.biases[class], bias(class));
        assert!(
            found == expected || (found - expected).abs() < 1e-5,
            "{nodes}: bias {found} of class {class}, expected {expected}"
        );
    }
}

#[test]
fn a_tail_that_is_no_softmax_of_scores_is_refused_by_the_name_of_its_node() {
    for (tail, node, why) in [
        ("Reshape(s, groups) -> r\nSoftmax(r) -> y axis=-1", "r (Reshape)", "several groups"),
        ("Reshape(s, groups) -> y", "y (Reshape)", "several groups"),
        ("Softmax(s) -> p axis=-1\nMul(p, v) -> y", "y (Mul)", "do not sum to one"),
        ("Softmax(s) -> p axis=-1\nMul(p, mask) -> y", "y (Mul)", "do not sum to one"),
        ("Softmax(s) -> p axis=-1\nMul(p, hundred) -> y", "y (Mul)", "do not sum to one"),
        ("Softmax(s) -> p axis=-1\nAdd(p, v) -> y", "y (Add)", "adds to probabilities"),
        ("Softmax(s) -> p axis=-1\nMul(p, half) -> h\nAdd(h, some) -> y", "y (Add)", "adds to probabilities"),
        ("LogSoftmax(s) -> p axis=-1\nMul(p, half) -> y", "y (Mul)", "logarithms of probabilities"),
        ("LogSoftmax(s) -> p axis=-1\nNeg(p) -> y", "y (Neg)", "logarithms of probabilities"),
        ("Softmax(s) -> p axis=-1\nSoftmax(p) -> y axis=-1", "y (Softmax)", "a softmax of probabilities"),
        ("Hardmax(s) -> y axis=-1", "y (Hardmax)", "no probabilities"),
        ("Softmax(s) -> y axis=0", "y (Softmax)", "over axis 0"),
        ("Sigmoid(s) -> y", "y (Sigmoid)", "is a sigmoid"),
        ("Relu(s) -> r\nSoftmax(r) -> y axis=-1", "r (Relu)", "makes something of the scores"),
        ("Clip(s, one, two) -> r\nSoftmax(r) -> y axis=-1", "r (Clip)", "limits values"),
        ("Softmax(s) -> p axis=-1\nPow(p, half) -> y", "y (Pow)", "do not sum to one"),
        ("Softmax(s) -> p axis=-1\nSub(one, p) -> y", "y (Sub)", "negative"),
        ("Softmax(s) -> p axis=-1\nGather(p, picked) -> y axis=1", "y (Gather)", "do not sum to one"),
        ("Exp(s) -> e\nReduceSum(e, last) -> z\nAdd(z, one) -> o\nDiv(e, o) -> y", "o (Add)", "may be as small"),
        ("Exp(s) -> y", "y (Exp)", "do not sum to one"),
        ("Add(s, other) -> r\nSoftmax(r) -> y axis=-1", "r (Add)", "neither is constant nor comes from the layer"),
        (
            "Gemm(q, WqN) -> t transB=1\nConcat(s, t) -> r axis=-1\nSoftmax(r) -> y axis=-1",
            "r (Concat)",
            "something else",
        ),
        ("Softmax(s) -> p axis=-1\nMatMul(p, mixture) -> y", "y (MatMul)", "takes the probabilities of p (Softmax)"),
        ("Softmax(s) -> p axis=-1\nMatMul(p, column) -> y", "y (MatMul)", "one output only"),
        ("com.acme:Softmax(s) -> y", "y (Softmax)", "not looked into"),
        (
            "QuantizeLinear(s, y_scale, u_zero) -> i\nDequantizeLinear(i, y_scale, u_zero) -> d\nSoftmax(d) -> y axis=-1",
            "i (QuantizeLinear)",
            "cuts off all scores on one side of zero",
        ),
        ("TopK(s, five) -> t,i axis=-1\nSoftmax(t) -> y axis=-1", "y (Softmax)", "other than scores"),
    ] {
        let message = refusal(13, "batch 2", &format!("{LAYER}\n{tail}"));
        assert!(message.starts_with(&format!("net.onnx: {node}, which ")), "{tail}: {message}");
        assert!(message.contains(why), "{tail}: {message}");
        assert!(message.contains("--layer "), "{tail}: {message}");
    }
}

#[test]
fn a_softmax_over_other_axes_than_the_classes_is_refused() {
    let many = "is a softmax, as before opset 13, over several axes together";
    for (opset, tail, why) in [
        (13, "Softmax(s) -> y axis=1", "is a softmax over axis 1, but the layer's classes are on axis 2"),
        (11, "Softmax(s) -> y", many),
        (11, "LogSoftmax(s) -> y axis=0", many),
        (13, "Flatten(s) -> f axis=1\nSoftmax(f) -> y axis=-1", "one axis with steps"),
        (13, "Reshape(s, flat) -> f\nSoftmax(f) -> y axis=-1", "one axis with steps"),
        (
            13,
            "Exp(s) -> e\nReduceSum(e, steps) -> z\nDiv(e, z) -> y",
            "reduces axis 1, but the layer's classes are on axis 2",
        ),
        (13, "Transpose(s) -> t perm=[0,2,1]\nAdd(t, per_step) -> r\nSoftmax(r) -> y axis=1", "other than the classes"),
    ] {
        let message = refusal(opset, "batch steps 2", &format!("{STEPS}\n{tail}"));
        assert!(message.contains(why), "opset {opset}, {tail}: {message}");
    }
}

#[test]
fn a_softmax_over_the_classes_is_found_wherever_they_are() {
    for (opset, tail) in [
        (13, "Softmax(s) -> y"),
        (13, "Softmax(s) -> y axis=2"),
        (11, "Softmax(s) -> y axis=2"),
        (11, "Softmax(s) -> y axis=-1"),
        (13, "Reshape(s, rows) -> r\nSoftmax(r) -> y axis=1"),
        (11, "Reshape(s, rows) -> r\nSoftmax(r) -> y"),
        (13, "Transpose(s) -> t perm=[0,2,1]\nSoftmax(t) -> y axis=1"),
        (13, "Unsqueeze(s, steps) -> u\nSoftmax(u) -> p axis=3\nSqueeze(p, steps) -> y"),
        (13, "Softmax(s) -> p\nTranspose(p) -> y perm=[1,0,2]"),
    ] {
        let nodes = format!("{STEPS}\n{tail}");
        let found = network(opset, "batch steps 2", &nodes, &[("y", "a b c")]).layer(None);
        let found = found.unwrap_or_else(|refused| panic!("opset {opset}, {tail}: {refused}"));
        assert_is(&found, |_| 1.0, |class| biases()[class], tail);
    }
}

#[test]
fn what_keeps_p_a_softmax_of_scores_is_taken_in_exactly() {
    type PerClass = fn(usize) -> f32;
    let (one, own): (PerClass, PerClass) = (|_| 1.0, |class| biases()[class]);
    let cases: [(&str, PerClass, PerClass); 21] = [
        ("Softmax(s) -> y axis=-1", one, own),
        ("Identity(s) -> y", one, own),
        ("LogSoftmax(s) -> y axis=-1", one, own),
        ("Softmax(s) -> p axis=-1\nLog(p) -> y", one, own),
        ("Mul(s, two) -> t\nSoftmax(t) -> y axis=-1", |_| 2.0, |class| 2.0 * biases()[class]),
        ("Div(s, two) -> t\nSoftmax(t) -> y axis=-1", |_| 0.5, |class| 0.5 * biases()[class]),
        ("Add(s, v) -> t\nSoftmax(t) -> y axis=-1", one, |class| biases()[class] + vector()[class]),
        ("Mul(s, v) -> t\nSoftmax(t) -> y axis=-1", |class| vector()[class], |class| biases()[class] * vector()[class]),
        ("Neg(s) -> t\nSoftmax(t) -> y axis=-1", |_| -1.0, |class| -biases()[class]),
        ("Softmax(s) -> p axis=-1\nMul(p, v) -> w\nReduceSum(w, last) -> z\nDiv(w, z) -> y", one, |class| {
            biases()[class] + vector()[class].ln()
        }),
        ("Softmax(s) -> p axis=-1\nMul(p, mask) -> w\nReduceSum(w, last) -> z\nDiv(w, z) -> y", one, |class| {
            if mask()[class] == 0.0 { f32::NEG_INFINITY } else { biases()[class] }
        }),
        (
            "Softmax(s) -> p axis=-1\nPow(p, half) -> w\nReduceSum(w, last) -> z\nDiv(w, z) -> y",
            |_| 0.5,
            |class| 0.5 * biases()[class],
        ),
        (
            "LogSoftmax(s) -> l axis=-1\nMul(l, half) -> t\nSoftmax(t) -> y axis=-1",
            |_| 0.5,
            |class| 0.5 * biases()[class],
        ),
        ("Where(kept, s, low) -> t\nSoftmax(t) -> y axis=-1", one, |class| {
            if mask()[class] == 0.0 { f32::NEG_INFINITY } else { biases()[class] }
        }),
        ("ReduceMax(s) -> m axes=[-1]\nSub(s, m) -> d\nExp(d) -> e\nReduceSum(e, last) -> z\nDiv(e, z) -> y", one, own),
        (
            "ReduceMax(s) -> m axes=[-1]\nSub(s, m) -> d\nExp(d) -> e\nReduceSum(e, last) -> z\nMax(z, tiny) -> o\nDiv(e, o) -> y",
            one,
            own,
        ),
        (
            "ReduceMax(s) -> m axes=[-1]\nSub(s, m) -> d\nExp(d) -> e\nReduceSum(e, last) -> z\nLog(z) -> l\nSub(d, l) -> y",
            one,
            own,
        ),
        ("ReduceLogSumExp(s) -> l axes=[-1]\nSub(s, l) -> y", one, own),
        ("Dropout(s) -> t\nCast(t) -> u to=10\nSoftmax(u) -> p axis=-1\nCast(p) -> y to=1", one, own),
        ("ArgMax(s) -> y axis=-1", one, own),
        (
            "BatchNormalization(s, v, b, b, v) -> t\nSoftmax(t) -> y axis=-1",
            |class| vector()[class] / (vector()[class] + 1e-5).sqrt(),
            |class| biases()[class],
        ),
    ];
    for (tail, factor, bias) in cases {
        assert_is(&layer(&format!("{LAYER}\n{tail}")), factor, bias, tail);
    }
}

#[test]
fn a_part_of_the_classes_is_a_model_of_that_part() {
    let found = layer(&format!("{LAYER}\nGather(s, picked) -> t axis=1\nSoftmax(t) -> y axis=-1"));
    let expected: Vec<f32> = [7, 2, 4].iter().map(|&class| biases()[class]).collect();
    assert_eq!((found.weights.rows(), found.biases), (3, expected));
}

#[test]
fn classes_that_are_chosen_on_the_side_do_not_matter_and_other_probabilities_do() {
    let outputs = [("y", "a b"), ("best", "a b"), ("values", "a b"), ("numbers", "a b")];
    let nodes =
        format!("{LAYER}\nSoftmax(s) -> y axis=-1\nArgMax(y) -> best axis=-1\nTopK(y, five) -> values,numbers axis=-1");
    assert!(network(13, "batch 2", &nodes, &outputs).layer(None).is_ok());
    let nodes = format!("{LAYER}\nSoftmax(s) -> y axis=-1\nMul(s, two) -> t\nSoftmax(t) -> z axis=-1");
    let two = network(13, "batch 2", &nodes, &[("y", "a b"), ("z", "a b")]);
    let refused = two.layer(None).unwrap_err().to_string();
    assert!(refused.contains("gives other probabilities than the output \"y\""), "{refused}");
    // Each of them is an answer of the network.
    let doubled = two.layer(Some("z")).unwrap();
    assert_is(&doubled, |_| 2.0, |class| 2.0 * biases()[class], "z");
    assert_eq!(doubled.left_out, None);
}

#[test]
fn a_layer_by_name_says_what_is_left_out_and_marks_the_model() {
    let nodes = format!("{LAYER}\nSigmoid(s) -> y");
    let found = network(13, "batch 2", &nodes, &[("y", "a b")]).layer(Some("fc")).unwrap();
    assert_eq!(found.left_out.as_deref(), Some("y (Sigmoid)"));
    assert_is(&found, |_| 1.0, |class| biases()[class], "sigmoid");
    let nodes = format!("{LAYER}\nSoftmax(s) -> p axis=-1\nMul(p, mask) -> y");
    let found = network(13, "batch 2", &nodes, &[("y", "a b")]).layer(Some("fc")).unwrap();
    assert_eq!(found.left_out.as_deref(), Some("p (Softmax), y (Mul)"));
    // Where all of it is understood, nothing is.
    let nodes = format!("{LAYER}\nSoftmax(s) -> y axis=-1");
    let found = network(13, "batch 2", &nodes, &[("y", "a b")]).layer(Some("fc")).unwrap();
    assert_eq!(found.left_out, None);

    let model = zhat::host::flat_model(&found.weights, &found.biases).unwrap();
    assert!(!model.model().is_partial());
    let marked = as_partial(&model, "y (Sigmoid)").unwrap();
    assert!(marked.model().is_partial());
    assert_eq!(marked.model().left_out(), Some("y (Sigmoid)"));
}

#[test]
fn quantised_heads_and_weights_on_the_left_are_read() {
    let quantise = "QuantizeLinear(q, q_scale, q_zero) -> qq";
    let plain = |class: usize| biases()[class];
    for (head, bias, dim) in [
        (
            format!(
                "{quantise}\nQLinearMatMul(qq, q_scale, q_zero, Wq, w_scale, w_zero, y_scale, y_zero) -> m\nDequantizeLinear(m, y_scale, y_zero) -> d\nAdd(d, b) -> s"
            ),
            true,
            "batch 2",
        ),
        (
            format!(
                "{quantise}\ncom.microsoft:QGemm(qq, q_scale, q_zero, WqN, w_scale, w_zero, bq, y_scale, y_zero) -> m transB=1\nDequantizeLinear(m, y_scale, y_zero) -> s"
            ),
            true,
            "batch 2",
        ),
        (
            format!("{quantise}\ncom.microsoft:QGemm(qq, q_scale, q_zero, WqN, w_scale, w_zero) -> s transB=1"),
            false,
            "batch 2",
        ),
        ("Transpose(q) -> qt\nMatMul(W, qt) -> t\nAdd(t, column) -> u\nTranspose(u) -> s".into(), true, "batch 2"),
        ("Gemm(W, q, column) -> u transB=1\nTranspose(u) -> s".into(), true, "batch 2"),
        ("Einsum(q, W) -> m equation='bd,nd->bn'\nAdd(m, b) -> s".into(), true, "batch 2"),
        ("Einsum(Wt, q) -> m equation='dn,...d->...n'\nAdd(m, b) -> s".into(), true, "batch steps 2"),
        ("MatMul(q, W3) -> m\nAdd(m, b) -> s".into(), true, "batch steps 2"),
        ("Transpose(W) -> tied\nMatMul(q, tied) -> s".into(), false, "batch 2"),
        (
            "Transpose(q) -> t perm=[0,2,1]\nConv(t, Wc, b) -> c\nTranspose(c) -> s perm=[0,2,1]".into(),
            true,
            "batch steps 2",
        ),
        (
            format!(
                "{}\nQLinearConv(qq, q_scale, q_zero, Wqc, w_scale, w_zero, y_scale, y_zero, bq) -> c\nDequantizeLinear(c, y_scale, y_zero) -> f\nTranspose(f) -> s perm=[0,2,1]",
                quantise.replace("(q,", "(t,").replace("Quan", "Transpose(q) -> t perm=[0,2,1]\nQuan")
            ),
            true,
            "batch steps 2",
        ),
    ] {
        let nodes = format!("{head}\nSoftmax(s) -> y axis=-1");
        let found = network(13, dim, &nodes, &[("y", "a b")]).layer(None);
        let found = found.unwrap_or_else(|refused| panic!("{head}: {refused}"));
        assert_eq!(found.left_out, None);
        for class in 0..CLASSES {
            for (found, own) in found.weights.row(class).iter().zip(&weights()[class * DIM..]) {
                assert!((found - own).abs() < 0.0051, "{head}: weight of class {class}");
            }
            let expected = if bias { plain(class) } else { 0.0 };
            assert!((found.biases[class] - expected).abs() < 4e-4, "{head}: bias of class {class}");
        }
        let is_int8 = head.contains("q_zero");
        assert_eq!(found.input.map(|input| (input.scale, input.zero_point)), is_int8.then_some((0.05, -100)), "{head}");
    }
}

#[test]
fn an_output_layer_that_cannot_be_read_is_named_and_not_one_of_the_body() {
    for (head, node, why) in [
        ("Concat(W, W) -> joined axis=0\nGemm(q, joined) -> y transB=1", "y (Gemm)", "has no constant weights"),
        ("Einsum(q, W) -> y equation='bd,nd->b'", "y (Einsum)", "no product of queries"),
        ("com.acme:Linear(q, W) -> y", "y (Linear)", "not known here"),
    ] {
        let message = refusal(13, "batch 2", head);
        assert!(message.starts_with(&format!("net.onnx: {node}, which the output \"y\" comes from, ")), "{message}");
        assert!(message.contains(why) && !message.contains("--layer"), "{message}");
    }
}

#[test]
fn a_body_says_the_type_that_the_weights_have() {
    let nodes = "com.acme:Embed(last, q) -> g\nGemm(g, W, b) -> s transB=1\nSoftmax(s) -> y axis=-1";
    let split = network(13, "batch 2", nodes, &[("y", "a b")]).split(None).unwrap();
    let shape = [bytes(1, &[]), bytes(1, &int(1, DIM as i64))].concat();
    let kind = bytes(2, &bytes(1, &[int(1, 1), bytes(2, &shape)].concat()));
    let output = bytes(12, &[bytes(1, b"g"), kind].concat());
    assert!(split.bytes.windows(output.len()).any(|window| window == output));
}

#[test]
fn a_body_holds_the_weights_that_were_in_another_file() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/models/import");
    let split = Onnx::open(format!("{folder}/external.onnx")).unwrap().split(None).unwrap();
    assert!(!split.bytes.windows(12).any(|window| window == b"external.bin"));
}
