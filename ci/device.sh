# shellcheck shell=bash
# Checks with code for bare targets: builds, examples on emulated boards, sizes and instruction counts. Sourced by ci.sh.

# The library is built for each of these targets, and with each of these features.
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

# An example a line: name, features ("-" for none), and the boards that it runs on besides the host.
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

# These examples also run with overflow checks and debug assertions, on a core with FPU and DSP and on one without.
CHECKED_EXAMPLES=(kernels exact estimators next_word)
CHECKED_BOARDS=(m4 m3)

# Generated layers of several sizes, to measure on.
SIZES_DIR=$DEVICE_DIR/models
# Flash of the small part that the language model with 4-bit rows must fit.
SMALL_PART=$((512 * 1024))
C_TARGET=thumbv7em-none-eabihf

qemu() {
    step "tools for devices" device_tools
    local target features
    # Release as the examples are: a library built from source is then built once.
    for target in "${BARE_TARGETS[@]}"; do
        step "library for $target, no features" device_cargo build --release --lib --target "$target"
    done
    # Features change the same code on every bare target, so one is enough.
    for features in "${BARE_FEATURES[@]}"; do
        step "library for thumbv7em-none-eabihf, $features" \
            device_cargo build --release --lib --target thumbv7em-none-eabihf --features "$features"
    done
    device_clippy
    for_each_example device_example
    cycles
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

device() {
    step "flash by part" flash_by_part
    step "layers of several sizes" make_models --sizes "$SIZES_DIR"
    step "instructions by size" instructions_by_size
}

# Lints device code, which the host's clippy does not see.
device_clippy() {
    if [ "${#device_options[@]}" -eq 0 ]; then
        step "clippy for thumbv7em-none-eabihf" \
            device_cargo clippy --lib --examples --features rows4 --target thumbv7em-none-eabihf -- -D warnings
    else
        skip "clippy for thumbv7em-none-eabihf: Debian's compiler has no clippy of its version"
    fi
}

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

# Fails if there is an example that no check runs.
examples_are_listed() {
    local source name
    for source in examples/*.rs; do
        name=$(basename "$source" .rs)
        # Tools, not demonstrations.
        case $name in make_models | flash | defmt_log | cycles | bound) continue ;; esac
        [[ " ${EXAMPLES[*]/%/ } " == *" $name "* ]] || die "$source is not in EXAMPLES of ci/device.sh"
        [ -f "examples/$name.out" ] || die "examples/$name.out is missing"
    done
    echo "${#EXAMPLES[@]} examples"
}

# run_example NAME TARGET MACHINE [FEATURES [PROFILE]]: runs an example and compares its output with the file beside its
# source. Lines that start with "# " are figures of one target: shown, not compared. TARGET may be `host`.
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

# Checks the check: the example panic_free must not link if it contains a panic.
panics_do_not_link() {
    local log=$DEVICE_DIR/panic_free.log
    if device_cargo rustc --release --target thumbv7em-none-eabihf --example panic_free -- \
        --cfg zhat_panics_on_purpose >"$log" 2>&1; then
        die "a firmware that panics on purpose was linked: the check finds nothing"
    fi
    grep --max-count=1 'undefined symbol: zhat_can_panic' "$log" || die "it fails for another reason: $(cat "$log")"
}

defmt_tools() {
    have defmt-print || PATH=$TOOLS_DIR/bin:$PATH have defmt-print ||
        cargo install --debug --quiet --locked --root "$TOOLS_DIR" defmt-print
}

# Decodes the frames of defmt that QEMU prints, with the strings in the program's file.
log_example() {
    local program=$DEVICE_DIR/thumbv7em-none-eabihf/release/examples/defmt_log log=$DEVICE_DIR/defmt_log.out
    cargo run --quiet --example defmt_log --features defmt
    DEFMT_LOG=debug device_cargo run --quiet --release --target thumbv7em-none-eabihf --example defmt_log \
        --features defmt >"$log.frames"
    PATH=$PATH:$TOOLS_DIR/bin defmt-print --log-format '{L} {s}' -e "$program" <"$log.frames" >"$log"
    cat "$log"
    diff -u examples/defmt_log.out "$log" || die "example defmt_log: other output than examples/defmt_log.out"
}

static_library() {
    # The same words as in src/capi/mod.rs.
    device_cargo rustc --release --lib --crate-type staticlib --features capi --target "$C_TARGET" -- --cfg zhat_staticlib
}

# Compares the C example's output with Rust's answers: tests/capi.rs keeps examples/c/main.out current.
c_example() {
    local program=$DEVICE_DIR/c-example.elf actual=$DEVICE_DIR/c-example.out
    examples/c/build.sh "$DEVICE_DIR/$C_TARGET/release/libzhat.a" "$program"
    ZHAT_QEMU_MACHINE=mps2-an386 .cargo/qemu-run.sh "$program" >"$actual"
    cat "$actual"
    diff -u examples/c/main.out "$actual" || die "the C example prints something else"
    ! readelf --symbols --wide "$program" | grep panic || die "the C example can panic"
}

# Follows src/guide/own_board.md word for word, outside the repository.
own_board() {
    local folder=${TMPDIR:-/tmp}/zhat-own-board program
    ci/own_board.sh "$folder"
    for program in firmware rtic embassy; do
        (cd "$folder/firmware" && device_cargo run --quiet --release --bin "$program") | tee "$folder/$program.out"
    done
    diff -u "$folder/firmware/printed.txt" "$folder/firmware.out" || die "the page says that it prints something else"
    for program in rtic embassy; do
        diff -u <(head -n 1 "$folder/firmware.out" | cut -d , -f 1) "$folder/$program.out" || die "$program: other answer"
    done
}

# Links for a part with little flash; the linker refuses a program that does not fit.
in_a_small_part() {
    local program=$DEVICE_DIR/thumbv7em-none-eabihf/release/examples/next_word4 actual=$DEVICE_DIR/next_word4-small.out
    device_cargo rustc --quiet --release --target thumbv7em-none-eabihf --example next_word4 --features rows4 -- \
        -Clink-arg=--defsym=_flash_length=$SMALL_PART
    ZHAT_QEMU_MACHINE=mps2-an386 .cargo/qemu-run.sh "$program" >"$actual"
    cat "$actual"
    diff -u examples/next_word4.out <(grep -v '^# ' "$actual") || die "next_word4 in a small part: other output"
}

# Prints the flash that each part of the library adds to an empty Cortex-M4F firmware, and how much of it is code of zhat
# itself; the rest is tables and the compiler's library. Fails above limits that leave room over `guide::measured`.
flash_by_part() {
    local part file=$DEVICE_DIR/thumbv7em-none-eabihf/release/examples/flash base=0 total own
    for part in nothing open exact classifier everything; do
        ZHAT_PART=$part device_cargo build --quiet --release --target thumbv7em-none-eabihf --example flash
        total=$(size "$file" | awk 'NR == 2 { print $1 + $2 }')
        own=$(ci/flash_of.sh "$file" zhat | awk '{ print $2 }')
        [ "$part" != nothing ] || base=$total
        printf '%-10s  %6d bytes of flash, %6d of them code of zhat\n' "$part" $((total - base)) "$own"
        case $part in
        exact) [ "$own" -le $((14 * 1024)) ] || die "the exact path is over 14 KiB of code" ;;
        classifier) [ "$((total - base))" -le 25000 ] || die "the classifier is over 25 000 bytes of flash" ;;
        esac
    done
}

# Prints the cost of each estimator for every layer that `make_models --sizes` made, as rows of a table. Fails if the
# host gives other answers.
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

# Checks a layer of 10 000 x 64: file size at most 1.35 times the weights, at most 4 million instructions to open it.
flash_and_opening() {
    local bytes instructions
    read -r bytes instructions \
        <<<"$(sed -n 's/^# 10000 x 64: \([0-9]*\) bytes are opened and checked in \([0-9]*\) instructions$/\1 \2/p' "$1")"
    [ "$bytes" -le $((640000 * 135 / 100)) ] || die "the file of 10 000 x 64 takes $bytes bytes"
    [ "$instructions" -le 4000000 ] || die "opening 10 000 x 64 takes $instructions instructions"
}
