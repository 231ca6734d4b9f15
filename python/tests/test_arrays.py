"""Whatever is given: the right answer or a ValueError."""

import numpy as np
import pytest
from conftest import build

import zhat


def same(found, expected):
    for name in ("classes", "p", "low", "high", "log_z", "work", "far_share"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


def test_forms_of_the_same_numbers_have_the_same_answers(layer, model):
    queries = layer.queries[500:520]
    expected = model.classify(queries)
    spread = np.zeros((20, 40), dtype=np.float32)
    spread[:, ::2] = queries
    for form in (queries.tolist(), queries.astype(np.float64), np.asfortranarray(queries), spread[:, ::2], queries[::-1][::-1]):
        same(model.classify(form), expected)
    half = queries.astype(np.float16)
    same(model.classify(half), model.classify(half.astype(np.float32)))
    whole = np.round(3 * queries)
    for kind in (np.int32, np.int64, np.uint32):
        same(model.classify(abs(whole).astype(kind)), model.classify(abs(whole)))


def test_weights_of_other_forms_make_the_same_model(layer):
    weights, bias, queries = layer.weights[:300], layer.bias[:300], layer.queries[:200]
    expected = build(weights, bias, queries).to_bytes()
    assert build(weights.tolist(), bias.tolist(), queries.tolist()).to_bytes() == expected
    assert build(np.asfortranarray(weights).astype(np.float64), bias.astype(np.float64), queries).to_bytes() == expected


def test_one_query_is_a_row(layer, model):
    same(model.classify(layer.queries[0]), model.classify(layer.queries[:1]))


def test_no_queries_have_no_answers(model):
    found = model.classify(np.zeros((0, 20)))
    assert len(found) == 0 and found.classes.shape == found.p.shape == (0, 5)
    assert model.predict_proba(np.zeros((0, 20)), [1, 2]).shape == (0, 2)
    assert model.sample(np.zeros((0, 20)))[0].shape == (0, 1)


def test_whole_numbers_are_taken_with_their_scale(layer, model):
    whole = np.clip(np.round(layer.queries[500:560] / 0.05), -100, 100)
    queries = (whole * 0.05).astype(np.float32)
    expected = model.classify(queries)
    as_i8 = model.classify((whole - 3).astype(np.int8), scale=0.05, zero_point=-3)
    same(model.classify((whole + 125).astype(np.uint8), scale=0.05, zero_point=125), as_i8)
    same(model.classify(whole.astype(np.int16), scale=0.05), model.classify(whole.astype(np.int8), scale=0.05))
    for found in (as_i8, model.classify(whole.astype(np.int16), scale=0.05)):
        assert (found.classes[:, 0] == expected.classes[:, 0]).mean() > 0.9
        np.testing.assert_allclose(found.log_z, expected.log_z, atol=0.05)


def test_a_stored_scale_needs_not_be_given(layer):
    model = build(layer.weights[:300], layer.bias[:300], layer.queries, input_scale=0.04, input_zero_point=-8)
    assert model.input_scale == (pytest.approx(0.04), -8)
    queries = np.random.default_rng(3).integers(-100, 100, size=(20, 20)).astype(np.int8)
    expected = model.classify(queries, scale=0.04, zero_point=-8)
    same(model.classify(queries), expected)
    same(model.classify((queries.astype(int) + 128).astype(np.uint8)), expected)


def test_k_is_what_was_asked_for(layer, model, flat):
    queries = layer.queries[500:530]
    most = model.classify(queries, 200)
    assert most.classes.shape == (30, 200)
    for k in (1, 5, 6, 16, 17, 100, 101):
        found = model.classify(queries, k)
        np.testing.assert_array_equal(found.classes, most.classes[:, :k])
        np.testing.assert_array_equal(found.p, most.p[:, :k])
    missing = most.classes < 0
    assert np.isnan(most.p[missing]).all() and not np.isnan(most.p[~missing]).any()
    # No more than there are.
    assert flat.classify(queries, 60).classes.shape == (30, 50)


def test_p_of_given_classes_is_that_of_the_answers(layer, model):
    queries = layer.queries[500:530]
    found = model.classify(queries, 1)
    wanted = found.classes[:, 0]
    np.testing.assert_array_equal(np.diag(model.predict_proba(queries, wanted)), found.p[:, 0])
    exact = model.exact(queries, 1)
    np.testing.assert_array_equal(np.diag(model.predict_proba(queries, exact.classes[:, 0], exact=True)), exact.p[:, 0])
    everything = model.predict_proba(queries, exact=True)
    assert everything.shape == (30, 1500)
    np.testing.assert_allclose(everything.sum(axis=1), 1, rtol=1e-4)
    # With the row of each class in the file, or without.
    twin = build(layer.weights, layer.bias, layer.queries[:500], lookup=True)
    np.testing.assert_array_equal(twin.predict_proba(queries, wanted), model.predict_proba(queries, wanted))


def test_a_budget_is_a_number_or_a_share(layer, model):
    queries = layer.queries[500:600]
    less = model.classify(queries, budget=model.cap // 2)
    assert less.work.max() <= model.cap // 2 and np.isnan(less.low).all() and less.familiar is None
    same(model.classify(queries, budget=model.cap // 2 / 1500 + 1e-6), less)
    same(model.classify(queries, budget=model.cap), model.classify(queries))
    assert not np.isnan(model.classify(queries).low).all()


def test_draws_follow_the_distribution(layer, model):
    query = layer.queries[500]
    classes, p = model.sample(query, 4000, seed=3)
    again, _ = model.sample(query, 4000, seed=3)
    np.testing.assert_array_equal(classes, again)
    assert (model.sample(query, 4000, seed=4)[0] != classes).any()
    best = model.classify(query, 1)
    share = (classes == best.classes[0, 0]).mean()
    assert abs(share - best.p[0, 0]) < 0.1, (share, best.p)
    assert ((0 < p) & (p <= 1)).all()
    assert ((0 <= classes) & (classes < 1500)).all()


WRONG_QUERIES = {
    "columns": np.zeros((3, 21)),
    "one of another length": np.zeros(21),
    "no axis": 1.0,
    "three axes": np.zeros((2, 2, 20)),
    "empty": [],
    "no columns": np.zeros((3, 0)),
    "NaN": np.full((3, 20), np.nan),
    "infinite": np.full((3, 20), np.inf),
    "beyond float32": np.full((3, 20), 1e300),
    "too large": np.full((3, 20), 1e30),
    "text": [["a"] * 20],
    "complex": np.zeros((3, 20), dtype=complex),
    "objects": [[None] * 20],
    "ragged": [[1.0] * 20, [1.0] * 19],
    "int8 without a scale": np.zeros((3, 20), dtype=np.int8),
    "dates": np.zeros((3, 20), dtype="datetime64[s]"),
}


@pytest.mark.parametrize("queries", WRONG_QUERIES.values(), ids=WRONG_QUERIES.keys())
def test_wrong_queries_are_refused(model, queries):
    for ask in (model.classify, model.exact, lambda queries: model.predict_proba(queries, [0]), model.sample):
        with pytest.raises(ValueError):
            ask(queries)


def test_an_error_says_which_query(layer, model):
    queries = layer.queries[:100].copy()
    queries[73, 4] = np.nan
    with pytest.raises(ValueError, match="queries: query 73: the query holds NaN or an infinity"):
        model.classify(queries)
    with pytest.raises(ValueError, match="queries: 3×21, but the model has a dimension of 20"):
        model.classify(np.zeros((3, 21)))


@pytest.mark.parametrize(
    "options",
    [
        {"k": 0},
        {"k": -1},
        {"k": 1001},
        {"budget": 0},
        {"budget": -5},
        {"budget": 1},
        {"budget": 0.00001},
        {"budget": 1.5},
        {"budget": 2**40},
        {"budget": float("nan")},
        {"scale": 0.1},
        {"zero_point": 3},
    ],
    ids=str,
)
def test_wrong_options_are_refused(layer, model, options):
    with pytest.raises(ValueError):
        model.classify(layer.queries[:3], **options)


@pytest.mark.parametrize(
    "options", [{"scale": 0}, {"scale": -1}, {"scale": float("nan")}, {"scale": 0.1, "zero_point": 128}], ids=str
)
def test_wrong_scales_are_refused(model, options):
    with pytest.raises(ValueError):
        model.classify(np.zeros((3, 20), dtype=np.int8), **options)
    with pytest.raises(ValueError):
        model.classify(np.zeros((3, 20), dtype=np.int16), **{"scale": 0.1, "zero_point": 1, **options})


def test_wrong_numbers_are_refused(layer, model):
    for options in ({"draws": -1}, {"draws": 0.5}, {"seed": -1}, {"seed": 2**64}, {"draws": "3"}):
        with pytest.raises(ValueError):
            model.sample(layer.queries[0], **options)
    for options in ({"top": 0}, {"top": -1}, {"top": 17}, {"seeds": 0}, {"seeds": 10**9}):
        with pytest.raises(ValueError):
            model.evaluate(queries=layer.queries, progress=False, **options)
    # More than there is memory for.
    with pytest.raises(MemoryError):
        model.sample(layer.queries[0], 2**40)


@pytest.mark.parametrize("classes", [[1500], [-1], [[1]], [0.5], ["a"], [2**70]], ids=str)
def test_wrong_classes_are_refused(layer, model, classes):
    with pytest.raises(ValueError):
        model.predict_proba(layer.queries[:3], classes)


W, B, Q = np.eye(80, 8, dtype=np.float32), np.zeros(80), np.ones((100, 8))
WRONG_LAYERS = {
    "no rows": (np.zeros((0, 8)),),
    "no columns": (np.zeros((8, 0)),),
    "one axis": (np.zeros(8),),
    "NaN in weights": (np.full((80, 8), np.nan),),
    "NaN in bias": (W, np.full(80, np.nan)),
    "short bias": (W, B[:79]),
    "bias of two axes": (W, B[:, np.newaxis]),
    "queries of another dimension": (W, B, np.ones((100, 9))),
    "no queries": (W, B, np.ones((0, 8))),
    "NaN in queries": (W, B, np.full((100, 8), np.nan)),
    "text": ([["a"]],),
    "nothing": (None,),
    "ragged": ([[1.0], [1.0, 2.0]],),
    "too wide": (np.zeros((2, 20_000)),),
}


@pytest.mark.parametrize("arrays", WRONG_LAYERS.values(), ids=WRONG_LAYERS.keys())
def test_wrong_layers_are_refused(arrays):
    with pytest.raises(ValueError):
        build(*arrays)


@pytest.mark.parametrize(
    "options",
    [
        {"work": 0},
        {"work": 5},
        {"work": "many"},
        {"work": float("nan")},
        {"cap": 0.01},
        {"cap": -1},
        {"bits": 3},
        {"flash": 10},
        {"flash": "potato"},
        {"flash": -1},
        {"max_error": 0},
        {"max_error": 0.1, "work": 0.04},
        {"instructions": "x"},
        {"deadline": "1ms"},
        {"clock": "64MHz"},
        {"deadline": "1 year", "clock": "64MHz"},
        {"deadline": "1us", "clock": "1Hz"},
        {"labels": [0] * 99},
        {"labels": [80] * 100},
        {"labels": [-1] * 100},
        {"labels": [0.5] * 100},
        {"fit_temperature": True},
        {"names": ["one"]},
        {"test_queries": np.ones((10, 9))},
        {"test_queries": np.full((10, 8), np.inf)},
        {"test_queries": np.ones((0, 8))},
        {"reject": 2},
        {"blend": 2},
        {"branching": 1},
        {"leaf": 0},
        {"links": 65},
        {"linked": 0},
        {"input_scale": 0},
        {"input_scale": float("nan")},
        {"input_scale": 0.1, "input_zero_point": 128},
        {"seed": -1},
        {"seed": 2**64},
        {"seed": 0.5},
        {"leaf": -1},
        {"leaf": float("nan")},
    ],
    ids=str,
)
def test_wrong_targets_are_refused(options):
    with pytest.raises(ValueError):
        build(W, B, Q, **options)


@pytest.mark.parametrize("classes, dim, queries", [(1, 1, 0), (1, 3, 5), (5, 1, 100), (100, 4, 0), (400, 64, 30), (3, 700, 90)])
@pytest.mark.parametrize("kind", ["zeros", "noise"])
def test_layers_of_any_size_are_answered(classes, dim, queries, kind):
    random = np.random.default_rng(classes)
    make = np.zeros if kind == "zeros" else (lambda shape: random.normal(size=shape))
    weights, asked = make((classes, dim)), make((max(queries, 3), dim))
    model = build(weights, queries=asked[:queries] if queries else None)
    found = model.exact(asked, min(classes, 1000))
    np.testing.assert_allclose(found.p.sum(axis=1), 1, rtol=1e-3)
    np.testing.assert_allclose(model.predict_proba(asked, exact=True).sum(axis=1), 1, rtol=1e-3)
    answers = model.classify(asked, 1)
    assert (answers.classes >= 0).all() and (answers.p > 0).all()
    if not queries:
        assert answers.familiar is None and np.isnan(answers.low).all()


def test_names_are_kept(layer):
    names = [f"class {number}" for number in range(300)]
    model = build(layer.weights[:300], names=names)
    assert model.names == names and build(layer.weights[:300]).names is None


def test_tensors_and_read_only_arrays_are_taken(layer, model):
    queries = layer.queries[500:510].copy()
    queries.flags.writeable = False
    same(model.classify(queries), model.classify(layer.queries[500:510]))


def test_what_should_be_known_is_a_warning(layer):
    with pytest.warns(zhat.ModelWarning, match="built without queries to measure on"):
        zhat.build(layer.weights, layer.bias, progress=False)
    with pytest.warns(zhat.ModelWarning, match="queries: all values are zero"):
        zhat.build(W, B, np.zeros((100, 8)), progress=False)
