#!/usr/bin/env bash
# Everything that is checked, with one command. Installs what is missing.
#
#   ./ci.sh         host, qemu, and every fuzz target for 20 seconds
#   ./ci.sh host    format, lints, tests, documentation and examples on this machine
#   ./ci.sh qemu    builds for bare targets, and the examples on Cortex-M boards in QEMU
#   ./ci.sh device  the part of qemu that measures: flash by part, and instructions for layers of several sizes
#   ./ci.sh network the commands of src/guide/from_your_network.md, on a network that is fetched: not part of the others
#   ./ci.sh fuzz [SECONDS]   every fuzz target from its seeds, for so long each (60)
#
#   ZHAT_DEVICE_TOOLCHAIN=rustup|debian   where the bare targets' libraries come from. By default rustup's if it can
#                                         fetch them, else Debian's compiler and library source.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

# What the host's tests, documentation and tools are built with, once. micromath gives other digits, and `std` has `rows4` in it:
# the core is tested with the one and without the other apart. defmt changes nothing on a host.
HOST_FEATURES=cli,import,capi

# Targets that the library must build for, and the features that it must build with, one at a time.
BARE_TARGETS=(thumbv6m-none-eabi thumbv7em-none-eabihf riscv32imac-unknown-none-elf)
BARE_FEATURES=(alloc rows4 defmt micromath capi keywords)

# Boards that examples run on: target and QEMU machine.
declare -A BOARDS=(
    [m0]="thumbv6m-none-eabi microbit"
    [m3]="thumbv7m-none-eabi mps2-an385"
    [m4]="thumbv7em-none-eabihf mps2-an386"
    [m7]="thumbv7em-none-eabihf mps2-an500"
    [m33]="thumbv8m.main-none-eabihf mps2-an505"
)

# Every example: its name, its features ("-" for none) and the boards that it runs on besides the host.
EXAMPLES=(
    "smoke - m0 m3 m4 m7 m33"
    "classify - m0 m3 m4 m7 m33"
    "runtime_size - m0 m3 m4 m7 m33"
    "kernels rows4 m0 m3 m4 m7 m33"
    "exact - m0 m3 m4 m7 m33"
    "int8_head - m0 m3 m4 m7 m33"
    "estimators - m0 m3 m4 m7 m33"
    "next_word - m3 m4 m7 m33"
    "next_word4 rows4 m3 m4 m7 m33"
    "streaming - m3 m4 m7 m33"
    "with_alloc alloc m3 m4"
    "costs - m3 m4 m7 m33"
    "panic_free - m0 m3 m4 m7 m33"
    "panic_free rows4 m0 m3 m4 m7 m33"
    "keywords keywords m4 m7 m33"
    "panic_free keywords m4 m7 m33"
)

# Examples that also run with overflow checks and debug assertions, and where: with and without FPU and DSP.
CHECKED_EXAMPLES=(kernels exact estimators next_word)
CHECKED_BOARDS=(m4 m3)

# Builds for devices have a target directory of their own: two compilers in one throw each other's work away.
# Absolute: it is used from other folders, and compiled into a program.
DEVICE_DIR=$(realpath -m "${CARGO_TARGET_DIR:-target}")/device
# Layers that are made to be measured on.
SIZES_DIR=$DEVICE_DIR/models
# Tools that are missing are installed here: the decoder of defmt's log, and cargo-fuzz.
TOOLS_DIR=$(realpath -m "${CARGO_TARGET_DIR:-target}")/tools
# What fuzzing prints, and how many targets run at the same time.
FUZZ_LOGS=${CARGO_TARGET_DIR:-target}/fuzz
FUZZERS=2

main() {
    trap summary EXIT
    case "${1:-all}" in
    all)
        host
        fuzz 20
        qemu
        ;;
    host) host ;;
    qemu) qemu ;;
    device)
        step "tools for devices" device_tools
        device
        ;;
    fuzz) fuzz "${2:-60}" ;;
    network) from_your_network ;;
    *) die "usage: ./ci.sh [host|qemu|device|network|fuzz [SECONDS]]" ;;
    esac
}

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

qemu() {
    step "tools for devices" device_tools
    local target features
    # Release as the examples are: a library built from source is then built once.
    for target in "${BARE_TARGETS[@]}"; do
        step "library for $target, no features" device_cargo build --release --lib --target "$target"
    done
    # What features change is the same for every bare target.
    for features in "${BARE_FEATURES[@]}"; do
        step "library for thumbv7em-none-eabihf, $features" \
            device_cargo build --release --lib --target thumbv7em-none-eabihf --features "$features"
    done
    device_clippy
    for_each_example device_example
    step "instructions of the default" instructions_of_the_default
    step "4-bit rows: the language model in a small part" in_a_small_part
    device
    step "tools for the log" defmt_tools
    step "example defmt_log on mps2-an386, decoded" log_example
    step "a way to panic is found out" panics_do_not_link
    checked_examples
    step "static library for C" static_library
    step "C example on mps2-an386" c_example
    step "the project of src/guide/own_board.md" own_board
}

fuzz() {
    step "tools for fuzzing" fuzz_tools
    step "fuzz targets" cargo_fuzz build
    step "fuzzing, $1 s for each target" fuzz_all "$1"
}

device() {
    step "flash by part" flash_by_part
    step "layers of several sizes" make_models --sizes "$SIZES_DIR"
    step "instructions by size" instructions_by_size
}

# --- steps -----------------------------------------------------------------------------------------------------------

finished=()
not_run=()
current="the start"

# Runs a command under a heading and notes its time, by the clock and of the processor. The first that fails ends the script.
step() {
    current=$1
    printf '\n==> %s\n' "$current"
    local begin=$SECONDS processor=$(processor_seconds)
    "${@:2}"
    finished+=("$(printf '%5d s %5d s  %s' $((SECONDS - begin)) $(($(processor_seconds) - processor)) "$current")")
    current="between two steps"
}

# Processor time of all that this script ran and waited for. (Fields 16 and 17 of stat, in hundredths of a second; a pipe
# or `times` in a subshell would count the subshell's own.)
processor_seconds() {
    local fields
    read -r -a fields <"/proc/$$/stat"
    echo $(((fields[15] + fields[16]) / 100))
}

# For parts that may be missing: reported here and again at the end.
skip() {
    printf '\n==> NOT RUN: %s\n' "$1"
    not_run+=("$1")
}

die() {
    printf 'ci.sh: %s\n' "$1" >&2
    exit 1
}

summary() {
    local status=$? line
    printf '\n==> summary, %d s in all, %d s of the processor\n' "$SECONDS" "$(processor_seconds)"
    for line in "${finished[@]}"; do printf '%s\n' "$line"; done
    for line in "${not_run[@]}"; do printf 'NOT RUN  %s\n' "$line"; done
    if [ "$status" -eq 0 ]; then
        echo "passed"
    else
        printf 'FAILED   %s (exit status %d); nothing after it ran\n' "$current" "$status"
    fi
}

# --- tools -----------------------------------------------------------------------------------------------------------

have() { command -v "$1" >/dev/null 2>&1; }

host_tools() {
    require_rust
    component rustfmt fmt
    component clippy clippy
}

require_rust() {
    have cargo || die "cargo is not installed: install Rust with rustup first"
    have rustup || die "rustup is not installed: it is needed to add components and targets"
    cargo --version
    rustc --version
}

# component NAME SUBCOMMAND: adds a rustup component unless its cargo subcommand works.
component() {
    cargo "$2" --version 2>/dev/null || rustup component add "$1" || die "$1 is missing and rustup can't add it"
}

device_tools() {
    require_rust
    have qemu-system-arm || install_packages qemu-system-arm
    qemu-system-arm --version | head -n 1
    have arm-none-eabi-gcc || install_packages gcc-arm-none-eabi
    arm-none-eabi-gcc --version | head -n 1
    choose_device_toolchain
}

apt_is_current=no

install_packages() {
    have apt-get || die "please install $*: this system has no apt-get"
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        have sudo || die "please install $*: this is not root, and there is no sudo"
        as_root=(sudo)
    fi
    if [ "$apt_is_current" = no ]; then
        "${as_root[@]}" apt-get update -qq
        apt_is_current=yes
    fi
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@"
}

# What `device_cargo` adds to the environment and to the command line.
device_environment=()
device_options=()
device_toolchain=none

choose_device_toolchain() {
    case "${ZHAT_DEVICE_TOOLCHAIN:-}" in
    rustup) add_rustup_targets || die "rustup can't add the device targets" ;;
    debian) use_debian_toolchain ;;
    "")
        if ! add_rustup_targets; then
            echo "rustup can't add the device targets: Debian's compiler instead"
            use_debian_toolchain
        fi
        ;;
    *) die "ZHAT_DEVICE_TOOLCHAIN is rustup or debian, not $ZHAT_DEVICE_TOOLCHAIN" ;;
    esac
    printf 'device toolchain: %s\n' "$device_toolchain"
}

all_targets() {
    local board
    {
        printf '%s\n' "${BARE_TARGETS[@]}"
        for board in "${BOARDS[@]}"; do echo "${board% *}"; done
    } | sort -u
}

add_rustup_targets() {
    local missing
    missing=$(comm -23 <(all_targets) <(rustup target list --installed | sort)) || return 1
    if [ -n "$missing" ]; then
        # Where downloads are silently dropped, rustup would wait for long.
        # shellcheck disable=SC2086 # one word for each target
        timeout 300 rustup target add $missing || return 1
    fi
    device_toolchain="rustup, $(rustc --version)"
}

use_debian_toolchain() {
    local compiler=/usr/bin/rustc packages=(rustc-web rust-web-src lld) package missing=() linker
    for package in "${packages[@]}"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
    done
    [ "${#missing[@]}" -eq 0 ] || install_packages "${missing[@]}"

    # rustup's linker is as new as the compiler; Debian's may be years older.
    linker=$(rustc --print sysroot)/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin/rust-lld
    [ -x "$linker" ] || linker=ld.lld

    # The library is built from source, which a stable compiler does only when told that it may.
    device_environment=(RUSTC="$compiler" RUSTC_BOOTSTRAP=1)
    device_options=(
        -Z build-std=core,alloc
        --config "target.'cfg(all(target_arch = \"arm\", target_os = \"none\"))'.linker = '$linker'"
    )
    device_toolchain="Debian, $("$compiler" --version), linker $linker"
}

# --- devices ---------------------------------------------------------------------------------------------------------

# cargo for a device. A caller's RUSTFLAGS would replace the linker script of .cargo/config.toml.
device_cargo() {
    env -u RUSTFLAGS -u CARGO_ENCODED_RUSTFLAGS CARGO_TARGET_DIR="$DEVICE_DIR" "${device_environment[@]}" \
        cargo "$1" "${device_options[@]}" "${@:2}"
}

# Device code is invisible to the host's clippy.
device_clippy() {
    if [ "${#device_options[@]}" -eq 0 ]; then
        step "clippy for thumbv7em-none-eabihf" \
            device_cargo clippy --lib --examples --features rows4 --target thumbv7em-none-eabihf -- -D warnings
    else
        skip "clippy for thumbv7em-none-eabihf: Debian's compiler has no clippy of its version"
    fi
}

# --- examples --------------------------------------------------------------------------------------------------------

# for_each_example COMMAND: calls it with each example's name, features and boards.
for_each_example() {
    local example
    for example in "${EXAMPLES[@]}"; do
        # shellcheck disable=SC2086 # the words of a row are the arguments
        "$1" $example
    done
}

host_example() {
    step "example $1 on the host" run_example "$1" host host "${2#-}"
}

device_example() {
    local board
    for board in "${@:3}"; do
        # shellcheck disable=SC2086 # target and machine
        step "example $1 on ${BOARDS[$board]#* }" run_example "$1" ${BOARDS[$board]} "${2#-}"
    done
}

checked_examples() {
    local board name
    for board in "${CHECKED_BOARDS[@]}"; do
        for name in "${CHECKED_EXAMPLES[@]}"; do
            # shellcheck disable=SC2086 # target and machine
            step "example $name on ${BOARDS[$board]#* }, overflow checked" \
                run_example "$name" ${BOARDS[$board]} rows4 checked
        done
    done
}

# That the example panic_free links proves something only if it would not link with a panic in it.
panics_do_not_link() {
    local log=$DEVICE_DIR/panic_free.log
    if device_cargo rustc --release --target thumbv7em-none-eabihf --example panic_free -- \
        --cfg zhat_panics_on_purpose >"$log" 2>&1; then
        die "a firmware that panics on purpose was linked: the check finds nothing"
    fi
    grep --max-count=1 'undefined symbol: zhat_can_panic' "$log" || die "it fails for another reason: $(cat "$log")"
}

# run_example NAME TARGET MACHINE [FEATURES [PROFILE]]: runs an example and compares what it prints with the file beside
# its source. Lines that start with "# " are figures of one target: shown, not compared. TARGET may be `host`.
run_example() {
    local name=$1 target=$2 machine=$3 features=${4:-} profile=${5:-release} status=0
    local expected=examples/$name.out actual=$DEVICE_DIR/$name-$machine.out
    mkdir -p "$DEVICE_DIR"
    # Into a file: a pipe would hide the exit status.
    if [ "$target" = host ]; then
        cargo run --quiet --example "$name" --features "$features" >"$actual" || status=$?
    else
        ZHAT_QEMU_MACHINE=$machine device_cargo run --quiet --profile "$profile" --target "$target" \
            --example "$name" --features "$features" >"$actual" || status=$?
    fi
    cat "$actual"
    [ "$status" -eq 0 ] || die "example $name on $machine: exit status $status"
    diff -u --label "$expected" "$expected" --label "$machine" <(grep -v '^# ' "$actual") ||
        die "example $name on $machine: other output than $expected"
}

defmt_tools() {
    have defmt-print || PATH=$TOOLS_DIR/bin:$PATH have defmt-print ||
        cargo install --debug --quiet --locked --root "$TOOLS_DIR" defmt-print
}

# Frames of defmt come out of QEMU as bytes; the strings are in the program's file.
log_example() {
    local program=$DEVICE_DIR/thumbv7em-none-eabihf/release/examples/defmt_log log=$DEVICE_DIR/defmt_log.out
    cargo run --quiet --example defmt_log --features defmt
    DEFMT_LOG=debug device_cargo run --quiet --release --target thumbv7em-none-eabihf --example defmt_log \
        --features defmt >"$log.frames"
    PATH=$PATH:$TOOLS_DIR/bin defmt-print --log-format '{L} {s}' -e "$program" <"$log.frames" >"$log"
    cat "$log"
    diff -u examples/defmt_log.out "$log" || die "example defmt_log: other output than examples/defmt_log.out"
}

# --- C ---------------------------------------------------------------------------------------------------------------

C_TARGET=thumbv7em-none-eabihf

static_library() {
    # The same words as in src/capi/mod.rs.
    device_cargo rustc --release --lib --crate-type staticlib --features capi --target "$C_TARGET" -- --cfg zhat_staticlib
}

# The example in C prints what Rust answers: examples/c/main.out, which tests/capi.rs makes anew and compares.
c_example() {
    local program=$DEVICE_DIR/c-example.elf actual=$DEVICE_DIR/c-example.out
    examples/c/build.sh "$DEVICE_DIR/$C_TARGET/release/libzhat.a" "$program"
    ZHAT_QEMU_MACHINE=mps2-an386 .cargo/qemu-run.sh "$program" >"$actual"
    cat "$actual"
    diff -u examples/c/main.out "$actual" || die "the C example prints something else"
    ! readelf --symbols --wide "$program" | grep panic || die "the C example can panic"
}

# --- the guide -------------------------------------------------------------------------------------------------------

# A new user's way, outside the repository: what the page says, word for word.
own_board() {
    local folder=${TMPDIR:-/tmp}/zhat-own-board program
    .cargo/own-board.sh "$folder"
    for program in firmware rtic embassy; do
        (cd "$folder/firmware" && device_cargo run --quiet --release --bin "$program") | tee "$folder/$program.out"
    done
    diff -u "$folder/firmware/printed.txt" "$folder/firmware.out" || die "the page says that it prints something else"
    for program in rtic embassy; do
        diff -u <(head -n 1 "$folder/firmware.out" | cut -d , -f 1) "$folder/$program.out" || die "$program: other answer"
    done
}

# The way from a network of a package to a checked model. Python and its packages come from elsewhere.
from_your_network() {
    local folder=${TMPDIR:-/tmp}/zhat-from-your-network
    if have python3 && have unzip && python3 -m venv --help >/dev/null 2>&1; then
        step "the command with an engine" cargo build --release --features cli,import
        step "the commands of src/guide/from_your_network.md" .cargo/from-your-network.sh "$folder" \
            "${CARGO_TARGET_DIR:-target}/release/zhat"
    else
        skip "the commands of src/guide/from_your_network.md: they need python3, its venv, and unzip"
    fi
}

# --- models and lists ------------------------------------------------------------------------------------------------

# The committed models are what the tool makes of its seeds, to the byte.
models_are_current() {
    make_models --check
}

# With the library that the tests have built.
make_models() {
    cargo run --quiet --features "$HOST_FEATURES" --example make_models -- "$@"
}

# Every public item has an example, as rustdoc counts them. (It does not ask the functions for C for any: theirs are on the
# module's page and in examples/c.)
examples_in_documentation() {
    local table
    table=$(RUSTC_BOOTSTRAP=1 cargo rustdoc --quiet --lib --features std,capi,keywords -- -Z unstable-options --show-coverage)
    grep '^| Total .* 100.0% |$' <<<"$table" || die "an item has no example: $table"
}

# What is published has every file that the documentation and the examples include.
package_is_whole() {
    local list file missing=()
    list=$(cargo package --list --allow-dirty)
    for file in README.md LICENSE-MIT LICENSE-APACHE src/capi/zhat.h src/guide/search.svg src/model/layout.svg \
        models/next_word.zhat models/next_word4.zhat models/next_word.context tests/data/indexed.zhat \
        models/keywords/keywords.zhat models/keywords/encoder.bin models/keywords/clips.wav; do
        grep -qx "$file" <<<"$list" || missing+=("$file")
    done
    [ "${#missing[@]}" -eq 0 ] || die "not in the package: ${missing[*]}"
    echo "$(wc -l <<<"$list") files"
}

# The compiler that Cargo.toml names as the oldest. The engine of `import` asks for a newer one.
oldest_rust() {
    local version
    version=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
    if cargo "+$version" --version >/dev/null 2>&1 ||
        timeout 300 rustup toolchain install "$version" --profile minimal --no-self-update >/dev/null 2>&1; then
        step "Rust $version, the oldest" cargo "+$version" check --target-dir "${CARGO_TARGET_DIR:-target}/oldest" \
            --lib --bins --features cli,capi,defmt,micromath
    else
        skip "Rust $version, the oldest: rustup can't install it"
    fi
}

# An example that nothing runs is one that nobody knows to be broken.
examples_are_listed() {
    local source name
    for source in examples/*.rs; do
        name=$(basename "$source" .rs)
        # Tools are no demonstrations.
        case $name in make_models | flash | defmt_log) continue ;; esac
        [[ " ${EXAMPLES[*]/%/ } " == *" $name "* ]] || die "$source is not in EXAMPLES of ci.sh"
        [ -f "examples/$name.out" ] || die "examples/$name.out is missing"
    done
    echo "${#EXAMPLES[@]} examples"
}

# --- 4-bit rows ------------------------------------------------------------------------------------------------------

# The flash of the part that the language model with 4-bit rows is linked for.
SMALL_PART=$((512 * 1024))

# The linker refuses what does not fit.
in_a_small_part() {
    local program=$DEVICE_DIR/thumbv7em-none-eabihf/release/examples/next_word4 actual=$DEVICE_DIR/next_word4-small.out
    device_cargo rustc --quiet --release --target thumbv7em-none-eabihf --example next_word4 --features rows4 -- \
        -Clink-arg=--defsym=_flash_length=$SMALL_PART
    ZHAT_QEMU_MACHINE=mps2-an386 .cargo/qemu-run.sh "$program" >"$actual"
    cat "$actual"
    diff -u examples/next_word4.out <(grep -v '^# ' "$actual") || die "next_word4 in a small part: other output"
}

# --- flash -----------------------------------------------------------------------------------------------------------

# What each part of the library adds to a firmware for a Cortex-M4F that does nothing, and how much of it is code of
# zhat itself (the rest: tables, and the compiler's library). Fails above its limits, which leave room over what `guide::measured` states.
flash_by_part() {
    local part file=$DEVICE_DIR/thumbv7em-none-eabihf/release/examples/flash base=0 total own
    for part in nothing open exact classifier everything; do
        ZHAT_PART=$part device_cargo build --quiet --release --target thumbv7em-none-eabihf --example flash
        total=$(size "$file" | awk 'NR == 2 { print $1 + $2 }')
        own=$(.cargo/flash-of.sh "$file" zhat | awk '{ print $2 }')
        [ "$part" != nothing ] || base=$total
        printf '%-10s  %6d bytes of flash, %6d of them code of zhat\n' "$part" $((total - base)) "$own"
        case $part in
        exact) [ "$own" -le $((14 * 1024)) ] || die "the exact path is over 14 KiB of code" ;;
        classifier) [ "$((total - base))" -le 25000 ] || die "the classifier is over 25 000 bytes of flash" ;;
        esac
    done
}

# The bar of 50 000 instructions a query, for the model that ships: generated layers depend on the host's arithmetic.
instructions_of_the_default() {
    local mean
    mean=$(sed -n 's/^# | 8192 | 64 | moments |.* | \([0-9]*\) | [0-9]* |$/\1/p' "$DEVICE_DIR/costs-mps2-an386.out")
    echo "$mean instructions a query"
    [ "${mean:-50001}" -le 50000 ] || die "the default takes more than 50 000 instructions a query"
}

# The costs of each estimator for every layer that `make_models --sizes` made, as the rows of a table. The host gives the
# same answers, or this fails.
instructions_by_size() {
    local model name large='["-Clink-arg=--defsym=_flash_length=4194304"]'
    for model in "$SIZES_DIR"/*.zhat; do
        name=$(basename "$model" .zhat)
        export ZHAT_MODEL=$model ZHAT_QUERIES=$SIZES_DIR/$name-queries.bin
        cargo run --quiet --example costs >"$SIZES_DIR/$name.host"
        # More flash than memory.x has: the boards have 4 MiB.
        device_cargo run --quiet --release --target thumbv7em-none-eabihf --example costs \
            --config "target.thumbv7em-none-eabihf.rustflags=$large" >"$SIZES_DIR/$name.device"
        unset ZHAT_MODEL ZHAT_QUERIES
        diff "$SIZES_DIR/$name.host" <(grep -v '^# ' "$SIZES_DIR/$name.device") || die "costs of $name: other answers"
        sed -n 's/^# //p' "$SIZES_DIR/$name.device"
    done
    flash_and_opening "$SIZES_DIR/10000x64.device"
}

# Of a layer of 10 000 x 64: the file takes at most 1.35 times its weights, and is opened in at most 4 million instructions.
flash_and_opening() {
    local bytes instructions
    read -r bytes instructions \
        <<<"$(sed -n 's/^# 10000 x 64: \([0-9]*\) bytes are opened and checked in \([0-9]*\) instructions$/\1 \2/p' "$1")"
    [ "$bytes" -le $((640000 * 135 / 100)) ] || die "the file of 10 000 x 64 takes $bytes bytes"
    [ "$instructions" -le 4000000 ] || die "opening 10 000 x 64 takes $instructions instructions"
}

# --- fuzzing ---------------------------------------------------------------------------------------------------------

fuzz_tools() {
    require_rust
    have c++ || install_packages g++
    cargo_fuzz --version || cargo install --debug --quiet --locked --root "$TOOLS_DIR" cargo-fuzz
}

# Sanitizers and coverage are for nightly compilers; a stable one does as it is told.
cargo_fuzz() { PATH=$PATH:$TOOLS_DIR/bin RUSTC_BOOTSTRAP=1 cargo fuzz "$@"; }

# fuzz_all SECONDS: two targets at a time. A case that fails is in fuzz/artifacts, and belongs into a test.
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

# fuzz_one TARGET SECONDS: from the seeds, and from what earlier runs on this machine found.
fuzz_one() {
    local log=$FUZZ_LOGS/$1.log
    rm -f "$FUZZ_LOGS/$1.passed"
    mkdir -p "fuzz/corpus/$1"
    if cargo_fuzz run "$1" "fuzz/corpus/$1" "fuzz/seeds/$1" -- -max_total_time="$2" -timeout=10 \
        -rss_limit_mb=2048 -print_final_stats=1 >"$log" 2>&1; then
        touch "$FUZZ_LOGS/$1.passed"
    fi
}

# --- Miri ------------------------------------------------------------------------------------------------------------

# The views of model bytes and the pointers of C are where a wrong offset would be undefined behaviour.
miri() {
    if cargo +nightly miri --version >/dev/null 2>&1 ||
        timeout 300 rustup toolchain install nightly --profile minimal -c miri -c rust-src --no-self-update >/dev/null 2>&1; then
        # Without the host library: the views of a model's bytes are of interest, and Miri is slow.
        step "Miri" cargo +nightly miri test --target-dir "${CARGO_TARGET_DIR:-target}/miri" \
            --features libm/force-soft-floats,capi,rows4 --test views --test capi
    else
        skip "Miri: rustup can't install it (rustup toolchain install nightly -c miri -c rust-src)"
    fi
}

# On one line: bash reads a script as it runs it, and must not continue in a file that was edited meanwhile.
main "$@"; exit
