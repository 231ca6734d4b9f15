# shellcheck shell=bash
# Fuzzing. Sourced by ci.sh.

# The folder of the logs, and the number of targets that run at a time.
FUZZ_LOGS=$TARGET_DIR/fuzz
FUZZERS=2

fuzz() {
    step "tools for fuzzing" fuzz_tools
    step "fuzz targets" cargo_fuzz build
    step "fuzzing, $1 s for each target" fuzz_all "$1"
}

fuzz_tools() {
    require_rust
    have c++ || install_packages g++
    cargo_fuzz --version || cargo install --debug --quiet --locked --root "$TOOLS_DIR" cargo-fuzz
}

# Sanitizers and coverage need a nightly compiler, or a stable one with RUSTC_BOOTSTRAP.
cargo_fuzz() { PATH=$PATH:$TOOLS_DIR/bin RUSTC_BOOTSTRAP=1 cargo fuzz "$@"; }

# fuzz_all SECONDS: runs two targets at a time. A failing case is in fuzz/artifacts, and belongs into a test.
fuzz_all() {
    local target failed=() runs all=0
    mkdir -p "$FUZZ_LOGS"
    for target in $(cargo_fuzz list); do
        while [ "$(jobs -rp | wc -l)" -ge "$FUZZERS" ]; do sleep 1; done
        fuzz_one "$target" "$1" &
    done
    wait
    for target in $(cargo_fuzz list); do
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$FUZZ_LOGS/$target.log")
        printf '%-12s %12s runs\n' "$target" "${runs:-?}"
        all=$((all + ${runs:-0}))
        [ -e "$FUZZ_LOGS/$target.passed" ] || failed+=("$target")
    done
    printf '%-12s %12d runs\n' all "$all"
    for target in "${failed[@]}"; do tail -n 40 "$FUZZ_LOGS/$target.log"; done
    [ "${#failed[@]}" -eq 0 ] || die "fuzzing failed: ${failed[*]}"
}

# fuzz_one TARGET SECONDS: starts from the seeds, and from the inputs that earlier runs on this machine found.
fuzz_one() {
    local log=$FUZZ_LOGS/$1.log
    rm -f "$FUZZ_LOGS/$1.passed"
    mkdir -p "fuzz/corpus/$1"
    if cargo_fuzz run "$1" "fuzz/corpus/$1" "fuzz/seeds/$1" -- -max_total_time="$2" -timeout=10 \
        -rss_limit_mb=2048 -print_final_stats=1 >"$log" 2>&1; then
        touch "$FUZZ_LOGS/$1.passed"
    fi
}
