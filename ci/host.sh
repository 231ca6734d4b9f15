# shellcheck shell=bash
# Checks that run on this machine. Sourced by ci.sh.

host() {
    step "tools for the host" host_tools
    step "format" cargo fmt --check
    step "format, fuzz targets" cargo fmt --check --manifest-path fuzz/Cargo.toml
    step "clippy, no features" cargo clippy --all-targets -- -D warnings
    step "clippy, all features" cargo clippy --all-targets --all-features -- -D warnings
    step "tests" cargo test --features "$HOST_FEATURES"
    step "tests of the core, with micromath and without 4-bit rows" cargo test --features capi,defmt,micromath --lib --test views --test capi
    step "documentation of the core" env RUSTDOCFLAGS=-Dwarnings cargo doc --no-deps --lib --features alloc,capi,keywords,rows4
    step "examples in the documentation" examples_in_documentation
    step "documentation" env RUSTDOCFLAGS=-Dwarnings cargo doc --no-deps --all-features
    step "package" package_is_whole
    oldest_rust
    step "models are what makes them" models_are_current
    step "every example is run" examples_are_listed
    for_each_example host_example
    miri
}

host_tools() {
    require_rust
    component rustfmt fmt
    component clippy clippy
}

# Makes the committed models from their seeds and compares every byte.
models_are_current() {
    make_models --check
}

# Uses the library that the tests have built.
make_models() {
    cargo run --quiet --features "$HOST_FEATURES" --example make_models -- "$@"
}

# Checks that every public type and constructor has an example. (The JSON of rustdoc is not stable yet.)
examples_in_documentation() {
    RUSTC_BOOTSTRAP=1 cargo rustdoc --quiet --lib --features std,capi,keywords -- -Z unstable-options --output-format json
    ZHAT_RUSTDOC=$TARGET_DIR/doc/zhat.json cargo test --features "$HOST_FEATURES" --test documentation -- --ignored
}

# Checks that the published package has every file that the library, the command and the documentation include.
package_is_whole() {
    local list file missing=()
    list=$(cargo package --list --allow-dirty)
    for file in README.md LICENSE-MIT LICENSE-APACHE src/capi/zhat.h src/guide/search.svg src/model/layout.svg \
        models/next_word.zhat models/next_word.context tests/data/indexed.zhat \
        models/keywords/keywords.zhat models/keywords/encoder.bin models/keywords/clips.wav; do
        grep -qx "$file" <<<"$list" || missing+=("$file")
    done
    [ "${#missing[@]}" -eq 0 ] || die "not in the package: ${missing[*]}"
    echo "$(wc -l <<<"$list") files"
}

# Compiles with the oldest compiler that Cargo.toml allows. (`import` uses an engine that needs a newer one.)
oldest_rust() {
    local version
    version=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
    if cargo "+$version" --version >/dev/null 2>&1 ||
        timeout 300 rustup toolchain install "$version" --profile minimal --no-self-update >/dev/null 2>&1; then
        step "Rust $version, the oldest" cargo "+$version" check --target-dir "$TARGET_DIR/oldest" \
            --lib --bins --features cli,capi,defmt,micromath
    else
        skip "Rust $version, the oldest: rustup can't install it"
    fi
}

# Looks for undefined behaviour where wrong offsets would cause it: in views of model bytes, and in pointers from C.
miri() {
    if cargo +nightly miri --version >/dev/null 2>&1 ||
        timeout 300 rustup toolchain install nightly --profile minimal -c miri -c rust-src --no-self-update >/dev/null 2>&1; then
        # Without the host library, because Miri is slow.
        step "Miri" cargo +nightly miri test --target-dir "$TARGET_DIR/miri" \
            --features libm/force-soft-floats,capi,rows4 --test views --test capi
    else
        skip "Miri: rustup can't install it (rustup toolchain install nightly -c miri -c rust-src)"
    fi
}

# Follows the guide from a published network to a checked model. Fetches Python packages.
network() {
    local folder=${TMPDIR:-/tmp}/zhat-from-your-network
    if have python3 && have unzip && python3 -m venv --help >/dev/null 2>&1; then
        step "the command with an engine" cargo build --release --features cli,import
        step "the commands of src/guide/from_your_network.md" ci/from_your_network.sh "$folder" \
            "$TARGET_DIR/release/zhat"
    else
        skip "the commands of src/guide/from_your_network.md: they need python3, its venv, and unzip"
    fi
}
