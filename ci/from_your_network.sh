#!/usr/bin/env bash
# Follows src/guide/from_your_network.md as a reader would: writes its files, then runs its commands in their order.
#
#   ci/from_your_network.sh FOLDER ZHAT     works in FOLDER, with ZHAT as the command; FOLDER/zhat is this repository
#
# The commands of the sections on PyTorch and Keras are run if Python has torch and safetensors, or tensorflow: they are too
# large to install for a check. PYTHON names the Python to look in.
set -euo pipefail

folder=$1
zhat=$(realpath "$2")
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

mkdir -p "$folder/bin"
ln -sfn "$root" "$folder/zhat"
ln -sf "$zhat" "$folder/bin/zhat"
cd "$folder"

# A file follows a line with only its name; commands are in blocks of `console`.
awk '
    /^```/ && inside { inside = 0; file = ""; kind = ""; next }
    /^```/ { inside = 1; kind = substr($0, 4); next }
    inside && file { print > file; next }
    inside && kind == "console" { if (sub(/^\$ /, "")) print section "\t" $0; next }
    /^## / { section = substr($0, 4) }
    /^`[^`]+`:$/ { file = substr($0, 2, length($0) - 3) }
' "$root/src/guide/from_your_network.md" >commands.txt

[ -x python/bin/python ] || python3 -m venv python
PATH=$PWD/bin:$PWD/python/bin:$PATH

while IFS=$'\t' read -r section command; do
    # Packages that a section requires.
    case $section in
    PyTorch) needed="torch, safetensors" ;;
    Keras) needed=tensorflow ;;
    *) needed= ;;
    esac
    if [ -n "$needed" ]; then
        if ! "${PYTHON:-python3}" -c "import $needed" 2>/dev/null; then
            printf 'NOT RUN, without %s: %s\n' "$needed" "$command"
            continue
        fi
        command=${command/#python /${PYTHON:-python3} }
    fi
    printf '\n$ %s\n' "$command"
    eval "$command" </dev/null
done <commands.txt
