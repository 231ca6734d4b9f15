#!/usr/bin/env bash
# Cargo's runner for Cortex-M programs: runs an ELF file in QEMU and exits with the program's own status.
#
#   ZHAT_QEMU_MACHINE   the board; by default one that fits the target named in the file's path
#   ZHAT_QEMU_TIMEOUT   seconds before a program counts as hung (120)
set -euo pipefail

elf=$1

default_machine() {
    case "$elf" in
    */thumbv6m-*) echo microbit ;;
    */thumbv7m-*) echo mps2-an385 ;;
    */thumbv7em-*) echo mps2-an386 ;;
    */thumbv8m.main-*) echo mps2-an505 ;;
    *)
        echo "qemu-run: no default board for $elf: set ZHAT_QEMU_MACHINE" >&2
        return 1
        ;;
    esac
}

machine=${ZHAT_QEMU_MACHINE:-$(default_machine)}
seconds=${ZHAT_QEMU_TIMEOUT:-120}

# One instruction is one nanosecond of the board's time (icount shift=0): counts are the same on every run. No pipe
# follows QEMU, and no monitor shares the terminal, so that its exit status and Ctrl-C both arrive.
status=0
timeout --foreground "$seconds" qemu-system-arm -machine "$machine" -nographic -monitor none -serial none \
    -icount shift=0 -semihosting-config enable=on,target=native -kernel "$elf" </dev/null || status=$?
if [ "$status" -eq 124 ]; then
    echo "qemu-run: $elf on $machine: no end after $seconds s" >&2
fi
exit "$status"
