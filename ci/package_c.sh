#!/usr/bin/env bash
# Makes a folder with the static library for C projects without cargo: ZHAT_PREBUILT of cmake/zhat-config.cmake.
#
#   ci/package_c.sh FOLDER [TARGET...]     all targets by default; `host` is this machine's
#
# ZHAT_CARGO and ZHAT_CARGO_OPTIONS are words in the place of `cargo`, and more for it, for targets other than the host.
set -euo pipefail

folder=$(realpath -m "$1")
shift
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
build=${CARGO_TARGET_DIR:-target}/package_c
targets=("$@")
if [ "${#targets[@]}" -eq 0 ]; then
    targets=(host thumbv6m-none-eabi thumbv7m-none-eabi thumbv7em-none-eabi thumbv7em-none-eabihf thumbv8m.main-none-eabi
        thumbv8m.main-none-eabihf riscv32imc-unknown-none-elf riscv32imac-unknown-none-elf riscv32imafc-unknown-none-elf)
fi

# Debug information is nine tenths of the files. Before Rust 1.96 the DSP instructions of a Cortex-M33 are refused where a crate is
# compiled in several units.
library() { # FEATURES, WORDS OF CARGO
    local features=$1
    shift
    "$@" --quiet --release --lib --crate-type staticlib --features "$features" --target-dir "$build" \
        --config profile.release.debug=false --config profile.release.codegen-units=1 "${options[@]}" -- --cfg zhat_staticlib
}

rm -rf "$folder"
mkdir -p "$folder/include" "$folder/lib" "$folder/cmake"
cp src/capi/zhat.h src/capi/zhat.hpp "$folder/include"
cp cmake/*.cmake "$folder/cmake"
cp CMakeLists.txt LICENSE-MIT LICENSE-APACHE "$folder"
host=$(rustc -vV | sed -n 's/^host: //p')
for target in "${targets[@]}"; do
    options=()
    # Models of 4-bit rows are read as well.
    if [ "$target" = host ]; then
        target=$host
        unset RUSTFLAGS
        library capi,rows4,std cargo rustc
        file=$build/release/libzhat.a
    else
        read -r -a cargo <<<"${ZHAT_CARGO:-cargo}"
        read -r -a options <<<"${ZHAT_CARGO_OPTIONS:-}"
        # And not the flags for this repository's own boards. Whoever has this FPU has the DSP instructions.
        case $target in
        thumbv8m.main-none-eabihf) export RUSTFLAGS=-Ctarget-cpu=cortex-m33 ;;
        *) export RUSTFLAGS= ;;
        esac
        library capi,rows4 "${cargo[@]}" rustc --target "$target"
        file=$build/$target/release/libzhat.a
    fi
    mkdir -p "$folder/lib/$target"
    cp "$file" "$folder/lib/$target"
done
(
    cd "$folder"
    {
        printf 'zhat %s, features capi and rows4.\n\n' "$(sed -n 's/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml" | head -n 1)"
        # What the linker takes of a library is less: what is called, and not the compiler's functions for other programs.
        for file in lib/*/libzhat.a; do
            printf '%-50s %10d bytes\n' "$file" "$(stat -c %s "$file")"
        done
    } >README
    find . -type f ! -name SHA256SUMS | LC_ALL=C sort | xargs sha256sum >SHA256SUMS
)
cat "$folder/README"
