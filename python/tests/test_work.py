"""Long work: shown, interrupted, beside other threads and in forked processes."""

import multiprocessing
import signal
import sys
import threading
import _thread

import numpy as np
import pytest
from conftest import Layer, build


def test_steps_are_shown_with_what_is_done(layer):
    steps = []
    build(layer.weights, layer.bias, layer.queries, progress=lambda *step: steps.append(step))
    assert len({what for what, *_ in steps}) > 2
    assert all(what and 0 <= done <= of for what, done, of in steps)
    assert any(of > 1 for *_, of in steps)


def test_an_error_in_the_progress_ends_the_work(layer):
    def fail(*_):
        raise LookupError("from the caller")

    with pytest.raises(LookupError, match="from the caller"):
        build(layer.weights, layer.bias, layer.queries, progress=fail)


def test_an_interrupt_ends_a_build(layer):
    with pytest.raises(KeyboardInterrupt):
        build(layer.weights, layer.bias, layer.queries, progress=lambda *_: signal.raise_signal(signal.SIGINT))
    # One that comes while nothing is shown.
    large = Layer(8000, 64, 2)
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        build(large.weights, large.bias, large.queries)
    timer.join()
    # All is well after that.
    assert build(layer.weights[:100], layer.bias[:100]).classes == 100


def test_other_threads_run_meanwhile(layer):
    ran, done = [], threading.Event()

    def count():
        while not done.wait(0.001):
            ran.append(1)

    thread = threading.Thread(target=count)
    thread.start()
    build(layer.weights, layer.bias, layer.queries)
    done.set()
    thread.join()
    assert len(ran) > 5


def test_threads_share_a_model(layer, model):
    expected = model.classify(layer.queries).p
    found = [None] * 4

    def ask(place):
        found[place] = model.classify(layer.queries).p

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for p in found:
        np.testing.assert_array_equal(p, expected)


def _in_child(model, queries, answers):
    answers.put(model.classify(queries).p)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks")
def test_a_forked_process_answers(layer, model):
    expected = model.classify(layer.queries).p  # the threads are there now
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=_in_child, args=(model, layer.queries, answers))
    child.start()
    np.testing.assert_array_equal(answers.get(timeout=60), expected)
    child.join()
