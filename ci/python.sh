# shellcheck shell=bash
# The Python package of python/: installed as users install it, and tested. Sourced by ci.sh.

PYTHON_DIR=$TARGET_DIR/python
VENV_DIR=$PYTHON_DIR/venv

python_package() {
    if ! have python3 || ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
        skip "the Python package: it needs python3 and its venv"
        return
    fi
    require_rust
    if ! fresh_environment; then
        skip "the Python package: pip can't install NumPy and pytest"
        return
    fi
    step "format, Python" cargo fmt --check --manifest-path python/Cargo.toml
    step "pip install ./python" python_install
    step "tests in Python" "$VENV_DIR/bin/python" -m pytest --quiet -p no:cacheprovider python/tests
    step "clippy, Python" env CARGO_TARGET_DIR="$PYTHON_DIR" PYO3_PYTHON="$VENV_DIR/bin/python" \
        cargo clippy --release --manifest-path python/Cargo.toml -- -D warnings
}

fresh_environment() {
    python3 -m venv --clear "$VENV_DIR"
    timeout 600 "$VENV_DIR/bin/pip" install --quiet numpy pytest
}

# The library is built in a folder that stays.
python_install() {
    CARGO_TARGET_DIR=$PYTHON_DIR "$VENV_DIR/bin/pip" install --quiet ./python
    "$VENV_DIR/bin/zhat" --version
    du -h "$VENV_DIR"/lib/python3*/site-packages/zhat/_zhat*.so
}
