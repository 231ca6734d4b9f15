#!/usr/bin/env bash
# Links the C example with the static library, for a Cortex-M4F.
#
#   examples/c/build.sh LIBRARY PROGRAM
set -euo pipefail

library=$1 program=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$here/../..

# The float ABI has to be that of the Rust target: hard for thumbv7em-none-eabihf.
arm-none-eabi-gcc -std=c11 -O2 -Wall -Wextra -Wpedantic -Werror \
    -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 \
    -ffreestanding -ffunction-sections -fdata-sections \
    -I "$root/src/capi" -Wa,-I,"$root/tests/data" \
    "$here"/{main,startup,semihosting}.c "$here/model.S" \
    -nostdlib -Wl,--gc-sections,--nmagic,-z,noexecstack -T "$here/link.ld" -L "$root" "$library" -lgcc \
    -o "$program"
