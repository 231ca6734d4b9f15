# shellcheck shell=bash
# C and C++ projects with CMake: examples/cmake on this machine and on emulated boards. Sourced by ci.sh.

C_DIR=$TARGET_DIR/c

c_projects() {
    step "tools for devices" device_tools
    if ! c_tools; then
        skip "C projects: cmake, picolibc or QEMU for RISC-V can't be installed"
        return
    fi
    step "the command" cargo build --quiet --features "$HOST_FEATURES" --bin zhat
    rm -rf "$C_DIR"/{host,cpp,m4,m33,riscv32,prebuilt*}
    step "the page of the guide shows the example" c_page
    step "CMake on this machine" c_project host
    step "CMake on this machine, C++ and add_subdirectory" c_plus_plus
    step "targets by the compilers' flags" c_targets
    step "CMake for a Cortex-M4F" c_project m4
    step "CMake for a Cortex-M33" c_project m33
    step "CMake for RV32IMAC" c_project riscv32
    step "a folder of libraries, and CMake without cargo" c_prebuilt
}

c_tools() {
    local package missing=()
    have cmake || missing+=(cmake)
    have make || missing+=(make)
    have qemu-system-riscv32 || missing+=(qemu-system-misc)
    have riscv64-unknown-elf-gcc || missing+=(gcc-riscv64-unknown-elf)
    for package in picolibc-arm-none-eabi picolibc-riscv64-unknown-elf; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
    done
    [ "${#missing[@]}" -eq 0 ] || install_packages "${missing[@]}"
}

# The project as a reader would have it, outside of the repository: three files.
c_files() {
    mkdir -p "$1"
    cp examples/cmake/CMakeLists.txt examples/cmake/main.c "$1"
    cp tests/data/indexed.zhat "$1/model.zhat"
}

# c_configure FOLDER OPTIONS...: configures and builds it, with the compiler that device builds use.
c_configure() {
    local cargo=("${device_environment[@]}") options=()
    [ "${#cargo[@]}" -eq 0 ] || cargo=(env "${cargo[@]}")
    [ "${#device_options[@]}" -eq 0 ] || options=(-Zbuild-std=core,alloc)
    [[ " $* " == *toolchain* ]] || { cargo=() options=(); }
    cargo+=(cargo)
    cmake -S "$1" -B "$1/build" -DZHAT_COMMAND="$TARGET_DIR/debug/zhat" -DZHAT_CARGO="$(joined "${cargo[@]}")" \
        -DZHAT_CARGO_OPTIONS="$(joined "${options[@]}")" -DZHAT_CARGO_DIR="$C_DIR/cargo" "${@:2}"
    cmake --build "$1/build"
}

joined() {
    local IFS=';'
    echo "$*"
}

# c_project BOARD [OPTIONS...]: the example, and what it prints.
c_project() {
    local folder=$C_DIR/${C_NAME:-$1} toolchain=()
    c_files "$folder"
    [ "$1" = host ] || toolchain=(--toolchain "$PWD/examples/cmake/$1.cmake")
    c_configure "$folder" "${toolchain[@]}" -Dzhat_DIR="$PWD/cmake" "${@:2}"
    c_run "$1" "$folder/build/words" | diff -u examples/cmake/main.out - || die "$1: the example prints something else"
    cat examples/cmake/main.out
}

# QEMU writes what picolibc prints, character by character, to standard error.
c_run() {
    case $1 in
    host) "$2" ;;
    m4) ZHAT_QEMU_MACHINE=mps2-an386 .cargo/qemu-run.sh "$2" 2>&1 ;;
    m33) ZHAT_QEMU_MACHINE=mps2-an505 .cargo/qemu-run.sh "$2" 2>&1 ;;
    riscv32)
        timeout 120 qemu-system-riscv32 -machine virt -cpu rv32 -bios none -nographic -monitor none -serial none \
            -semihosting-config enable=on,target=native -kernel "$2" </dev/null 2>&1
        ;;
    esac
}

c_plus_plus() {
    local folder=$C_DIR/cpp
    c_files "$folder"
    cp examples/cmake/main.cpp "$folder"
    sed -i 's/main\.c/main.cpp/; s/project(words C)/project(words C CXX)/; s/find_package(zhat.*/add_subdirectory("${ZHAT}" zhat)/' \
        "$folder/CMakeLists.txt"
    c_configure "$folder" -DZHAT="$PWD" -DCMAKE_CXX_FLAGS="-Wall -Wextra -Wpedantic -Werror -std=c++11"
    "$folder/build/words" | diff -u examples/cmake/main.out - || die "the example in C++ prints something else"
    # With std::span as well.
    "${CXX:-c++}" -std=c++20 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c++ -include src/capi/zhat.hpp - <<<'
        auto ask(const zhat::Model &model, std::span<const float> query, zhat::Scratch<99> &scratch) {
            return model.exact<2>(query, scratch).error;
        }'
}

# What is configured for processors, by compiler and flags.
c_targets() {
    local flags target found
    while read -r target flags; do
        rm -rf "$C_DIR/targets"
        mkdir -p "$C_DIR/targets"
        printf 'cmake_minimum_required(VERSION 3.18)\nproject(targets C)\nfind_package(zhat CONFIG REQUIRED)\n' \
            >"$C_DIR/targets/CMakeLists.txt"
        found=$(cmake -S "$C_DIR/targets" -B "$C_DIR/targets/build" -Dzhat_DIR="$PWD/cmake" -DCMAKE_SYSTEM_NAME=Generic \
            -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY -DCMAKE_C_COMPILER="${flags%% *}" -DCMAKE_C_FLAGS="${flags#* }" |
            sed -n 's/^-- zhat: \(.*\), built by cargo$/\1/p')
        [ "$found" = "$target" ] || die "$flags: $target was expected, not $found"
        printf '%-32s %s\n' "$target" "${flags#* }"
    done <<'END'
thumbv6m-none-eabi arm-none-eabi-gcc -mcpu=cortex-m0
thumbv6m-none-eabi arm-none-eabi-gcc -mcpu=cortex-m0plus -mthumb
thumbv7m-none-eabi arm-none-eabi-gcc -mcpu=cortex-m3 -mthumb -Os
thumbv7em-none-eabi arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -mfloat-abi=soft
thumbv7em-none-eabi arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=softfp
thumbv7em-none-eabihf arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard
thumbv7em-none-eabihf arm-none-eabi-gcc -mcpu=cortex-m7 -mthumb -mfpu=fpv5-d16 -mfloat-abi=hard
thumbv8m.base-none-eabi arm-none-eabi-gcc -mcpu=cortex-m23 -mthumb
thumbv8m.main-none-eabi arm-none-eabi-gcc -mcpu=cortex-m33 -mthumb -mfloat-abi=soft
thumbv8m.main-none-eabihf arm-none-eabi-gcc -mcpu=cortex-m33 -mthumb -mfpu=fpv5-sp-d16 -mfloat-abi=hard
thumbv8m.main-none-eabihf arm-none-eabi-gcc -mcpu=cortex-m55 -mthumb -mfloat-abi=hard
riscv32im-unknown-none-elf riscv64-unknown-elf-gcc -march=rv32im -mabi=ilp32
riscv32imc-unknown-none-elf riscv64-unknown-elf-gcc -march=rv32imc_zicsr_zifencei -mabi=ilp32
riscv32imac-unknown-none-elf riscv64-unknown-elf-gcc -march=rv32imac -mabi=ilp32
riscv32imac-unknown-none-elf riscv64-unknown-elf-gcc -march=rv32imafc -mabi=ilp32
riscv32imafc-unknown-none-elf riscv64-unknown-elf-gcc -march=rv32imafc -mabi=ilp32f
END
}

# The library for one target, found by a project that has no cargo.
c_prebuilt() {
    local folder=$C_DIR/prebuilt environment=("${device_environment[@]}")
    [ "${#environment[@]}" -eq 0 ] || environment=(env "${environment[@]}")
    ZHAT_CARGO="${environment[*]} cargo" ZHAT_CARGO_OPTIONS="$([ "${#device_options[@]}" -eq 0 ] || echo -Zbuild-std=core,alloc)" \
        ci/package_c.sh "$folder" thumbv7em-none-eabihf
    (cd "$folder" && sha256sum --quiet --check SHA256SUMS)
    C_NAME=prebuilt-m4 c_project m4 -DZHAT_PREBUILT="$folder"
    # And the folder by itself, as it is passed on.
    C_NAME=prebuilt-alone c_project m4 -Dzhat_DIR="$folder/cmake"
    c_files "$C_DIR/prebuilt-riscv"
    if c_configure "$C_DIR/prebuilt-riscv" --toolchain "$PWD/examples/cmake/riscv32.cmake" -Dzhat_DIR="$PWD/cmake" \
        -DZHAT_PREBUILT="$folder" 2>"$C_DIR/prebuilt.err"; then
        die "a project for RISC-V was linked with a library for Arm"
    fi
    # CMake breaks lines.
    tr -s '\n ' ' ' <"$C_DIR/prebuilt.err" |
        grep -q 'has no library for riscv32imac-unknown-none-elf, but for thumbv7em-none-eabihf'
}

# The page shows the files as they are.
c_page() {
    local file
    for file in CMakeLists.txt main.c main.cpp main.out; do
        awk -v file="$file" '
            /^```/ && inside { exit }
            inside { print }
            /^```/ && named { inside = 1 }
            /^`[^`]+`:$/ { named = substr($0, 2, length($0) - 3) == file }
        ' src/guide/c_projects.md | diff -u "examples/cmake/$file" - || die "src/guide/c_projects.md: another $file"
    done
}
