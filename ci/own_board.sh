#!/usr/bin/env bash
# Makes the project of src/guide/own_board.md as a reader would: a file of every block that follows a line with only a
# file's name, and `printed.txt` with the output that the page shows.
#
#   ci/own_board.sh FOLDER     makes FOLDER/firmware, beside FOLDER/zhat
set -euo pipefail

folder=$1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# The lock file stays, so that a second run does not resolve versions again.
rm -rf "$folder/firmware/src" "$folder/firmware/.cargo"
mkdir -p "$folder/firmware/src/bin" "$folder/firmware/.cargo"
ln -sfn "$root" "$folder/zhat"
cp "$root/models/next_word.zhat" "$folder/firmware/model.zhat"
# The end of the page. It is a file of its own, so that a test can run it.
cp "$root/src/guide/partitions.rs" "$folder/firmware/src/partitions.rs"

awk -v folder="$folder/firmware" '
    /^```/ && inside { inside = 0; file = ""; next }
    /^```/ { inside = 1; next }
    inside { if (file) print > (folder "/" file); next }
    /^`[^`]+`:$/ { file = substr($0, 2, length($0) - 3) }
    /^`cargo run [^`]+` prints:$/ { file = "printed.txt" }
' "$root/src/guide/own_board.md"
