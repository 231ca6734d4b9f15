#!/usr/bin/env bash
# Builds keywords.zhat from the exported output layer, prints how it compares with scoring every class, draws its reliability, and puts the
# new files into the command. Option: data folder.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
export=$(cd "${1:-$root/target/keywords}" && pwd)/export
cd "$root"
zhat() { "${ZHAT:-target/release/zhat}" "$@"; }
[ -n "${ZHAT:-}" ] || cargo build --quiet --release --features cli
zhat build --weights "$export/weights_t.npy" --bias "$export/bias_t.npy" --queries "$export/calibration.npy" --names "$export/names.txt" \
    --work "${WORK:-4%}" -o "$here/keywords.zhat"
zhat eval "$here/keywords.zhat" --weights "$export/weights_t.npy" --bias "$export/bias_t.npy" --queries "$export/queries.npy" --labels "$export/labels.npy"
zhat plot reliability "$here/keywords.zhat" --queries "$export/queries.npy" --labels "$export/labels.npy" --estimators exact,moments \
    -o "$here/reliability.svg"
cargo build --quiet --release --features cli
