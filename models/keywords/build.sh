#!/usr/bin/env bash
# Builds keywords.zhat from the exported output layer, prints how it compares with scoring every class, draws its reliability, and puts the
# new files into the command. Option: data folder.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
export=$(cd "${1:-$root/target/keywords}" && pwd)/export
cd "$root"
zhat() { "${ZHAT:-target/release/zhat}" "$@"; }
layer=(--weights "$export/weights_t.npy" --bias "$export/bias_t.npy")
built=("${layer[@]}" --queries "$export/calibration.npy" --names "$export/names.txt" --work "${WORK:-4.2%}")
judged=(--queries "$export/queries.npy" --labels "$export/labels.npy")
[ -n "${ZHAT:-}" ] || cargo build --quiet --release --features cli
zhat build "${built[@]}" -o "$here/keywords.zhat"
zhat eval "$here/keywords.zhat" "${layer[@]}" "${judged[@]}"
zhat plot reliability "$here/keywords.zhat" "${judged[@]}" --estimators exact,moments \
    -o "$here/reliability.svg"
# With 4-bit rows, for parts of 1 MiB; not shipped.
zhat build "${built[@]}" --bits 4 -o "$export/keywords4.zhat"
zhat eval "$export/keywords4.zhat" "${layer[@]}" "${judged[@]}"
cargo build --quiet --release --features cli
