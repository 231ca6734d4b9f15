#!/usr/bin/env bash
# Prints the bytes of code and constants that crates take in a firmware, by the names and sizes of its symbols.
#
#   ci/flash_of.sh FILE CRATE...
set -euo pipefail

file=$1
for crate in "${@:2}"; do
    # In both of Rust's mangling schemes a crate is its name after the length of the name.
    readelf --symbols --wide "$file" | awk -v crate="$crate" -v mangled="${#crate}$crate" '
        ($4 == "FUNC" || $4 == "OBJECT") && index($8, mangled) && !seen[$2]++ { bytes[$4] += $3 }
        END { printf "%-18s %6d bytes of code, %5d of constants\n", crate, bytes["FUNC"], bytes["OBJECT"] }'
done
