#!/usr/bin/env bash
# Runs every check with one command, and installs what is missing.
#
#   ./ci.sh                 host, python, qemu, c, and every fuzz target for 20 seconds
#   ./ci.sh host            format, lints, tests, documentation and examples on this machine
#   ./ci.sh qemu            builds for bare targets, and the examples on Cortex-M boards in QEMU
#   ./ci.sh device          the part of `qemu` that measures: flash by part, instructions by size of the layer
#   ./ci.sh cycles          the part of `qemu` that prices instructions: cycles of a query on a Cortex-M4F, by function
#   ./ci.sh c               C and C++ projects with CMake, on this machine and in QEMU
#   ./ci.sh python          the Python package: installed into a fresh environment, and its tests
#   ./ci.sh network         the commands of src/guide/from_your_network.md; fetches a network, so it runs only when asked for
#   ./ci.sh fuzz [SECONDS]  every fuzz target from its seeds, for SECONDS each (60)
#
#   ZHAT_DEVICE_TOOLCHAIN=rustup|debian   source of the libraries for bare targets: rustup, or Debian's compiler and
#                                         library source. By default rustup if it can fetch them, else Debian.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

# Features of the host's tests, documentation and tools, so that the library is built once. `micromath` changes results and
# `std` includes `rows4`; ci/host.sh tests the core with the first and without the second.
HOST_FEATURES=cli,import,capi

TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-target}")
# Two compilers in one folder would discard each other's work, so device builds have their own.
DEVICE_DIR=$TARGET_DIR/device
# Tools that cargo installs for the checks.
TOOLS_DIR=$TARGET_DIR/tools

main() {
    trap summary EXIT
    case "${1:-all}" in
    all)
        host
        python_package
        fuzz 20
        qemu
        c_projects
        ;;
    host) host ;;
    qemu) qemu ;;
    device)
        step "tools for devices" device_tools
        device
        ;;
    cycles)
        step "tools for devices" device_tools
        cycles
        ;;
    c) c_projects ;;
    python) python_package ;;
    network) network ;;
    fuzz) fuzz "${2:-60}" ;;
    *) die "usage: ./ci.sh [host|qemu|device|cycles|c|python|network|fuzz [SECONDS]]" ;;
    esac
}

finished=()
not_run=()
current="the start"

# Runs a command under a heading and records its wall and processor time. The first failure ends the script.
step() {
    current=$1
    printf '\n==> %s\n' "$current"
    local begin=$SECONDS processor=$(processor_seconds)
    "${@:2}"
    finished+=("$(printf '%5d s %5d s  %s' $((SECONDS - begin)) $(($(processor_seconds) - processor)) "$current")")
    current="between two steps"
}

# Prints the processor time of all children that ended: fields 16 and 17 of stat, in hundredths of a second. (`times` in a
# subshell would count only that subshell.)
processor_seconds() {
    local fields
    read -r -a fields <"/proc/$$/stat"
    echo $(((fields[15] + fields[16]) / 100))
}

# Reports a check that cannot run here, now and in the summary.
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

for part in toolchain host python device cycles c fuzz; do
    # shellcheck source=/dev/null
    source "ci/$part.sh"
done

# On one line: bash reads a script while it runs, and must not go on in a file that was edited meanwhile.
main "$@"; exit
