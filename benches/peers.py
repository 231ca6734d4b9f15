#!/usr/bin/env python3
"""Ours beside faiss on the same layer, one thread, in the same run: recall of the best class and time a query.

    benches/peers.py --zhat target/release/zhat --weights W.npy [--bias b.npy] --calibration C.npy --queries Q.npy

Installs faiss-cpu in a virtual environment of its own (target/peers). Both are asked for the best inner product of the float
rows, with the bias as one more column for faiss. Recall is against the float layer. faiss gets all queries in one call, which
suits it, its settings are swept and all are shown; zhat is built with its defaults for each --work. faiss returns the best
classes only; zhat's time includes Z, p, an interval and the quantisation of the query.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv


def main():
    arguments = parse()
    numpy, faiss = packages()
    weights, queries = numpy.load(arguments.weights), numpy.load(arguments.queries)
    bias = numpy.load(arguments.bias) if arguments.bias else numpy.zeros(len(weights))
    rows = numpy.column_stack([weights, bias]).astype(numpy.float32)
    asked = numpy.column_stack([queries, numpy.ones(len(queries))]).astype(numpy.float32)
    faiss.omp_set_num_threads(1)
    best = numpy.concatenate([(block @ rows.T).argmax(1) for block in numpy.array_split(asked, 20)])

    print(f"{rows.shape[0]} classes, {rows.shape[1] - 1} dimensions, {len(asked)} queries, one thread\n")
    print("| method | setting | recall@1 | ms a query |\n|---|---|---|---|")
    flat = faiss.IndexFlatIP(rows.shape[1])
    flat.add(rows)
    for work in arguments.work:
        recall, microseconds, share = ours(arguments, work)
        show("zhat", f"--work {work}, {100 * share:.2f} % of the rows", recall, microseconds)
    show("faiss Flat", "all rows", *timed(flat, asked, best))
    lists = int(4 * len(rows) ** 0.5)
    inverted = faiss.IndexIVFFlat(faiss.IndexFlatIP(rows.shape[1]), rows.shape[1], lists, faiss.METRIC_INNER_PRODUCT)
    inverted.train(rows)
    inverted.add(rows)
    for inverted.nprobe in [n for n in (1, 4, 16, 32, 64, 128, 256) if n <= lists]:
        show(f"faiss IVF-Flat, {lists} lists", f"{inverted.nprobe} probes", *timed(inverted, asked, best))
    graph = faiss.IndexHNSWFlat(rows.shape[1], 32, faiss.METRIC_INNER_PRODUCT)
    graph.add(rows)
    for graph.hnsw.efSearch in (16, 64, 256, 512):
        show("faiss HNSW32", f"efSearch {graph.hnsw.efSearch}", *timed(graph, asked, best))


def show(method, setting, recall, microseconds):
    print(f"| {method} | {setting} | {recall:.3f} | {microseconds / 1000:.4f} |")


def timed(index, queries, best):
    """Recall, and the least time of three, in µs a query."""
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        _, found = index.search(queries, 1)
        times.append((time.perf_counter() - begin) / len(queries) * 1e6)
    return (found[:, 0] == best).mean(), min(times)


def ours(arguments, work):
    """Recall against the float layer, µs a query, and the share of the rows."""
    layer = ["--weights", arguments.weights] + (["--bias", arguments.bias] if arguments.bias else [])
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "model.zhat")
        tune = ["--queries", arguments.calibration] if arguments.calibration else []
        build = [arguments.zhat, "build", *layer, *tune, "--work", work, "-o", model]
        subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
        command = [arguments.zhat, "eval", model, *layer, "--queries", arguments.queries, "--estimators", "moments", "--json"]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = json.loads(printed)["estimators"][0]
    return found["float_recall_at_1"], found["time_us"], found["work_mean"]


def packages():
    """numpy and faiss, from a virtual environment that this program runs itself in."""
    try:
        import faiss
        import numpy
        return numpy, faiss
    except ImportError:
        folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "target", "peers")
        python = os.path.join(folder, "bin", "python")
        if os.path.abspath(sys.prefix) == os.path.abspath(folder):
            raise
        if not os.path.exists(python):
            venv.create(folder, with_pip=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", "faiss-cpu", "numpy"], check=True)
        os.execv(python, [python, *sys.argv])


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zhat", default="target/release/zhat", help="the command, built with --release --features cli")
    parser.add_argument("--weights", required=True, help="N×d, .npy")
    parser.add_argument("--bias", help="N, .npy")
    parser.add_argument("--calibration", help="queries that zhat tunes on, .npy")
    parser.add_argument("--queries", required=True, help="queries that both are asked, .npy")
    parser.add_argument("--work", nargs="+", default=["2%", "4%", "8%"], help="shares of the rows that zhat is built for")
    return parser.parse_args()


if __name__ == "__main__":
    main()
