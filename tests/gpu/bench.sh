#!/bin/bash
# GPts/s table of naive and overlap on a CUDA device, and a run of 50000 x 50000 points: tests/gpu/bench.sh STC [OPTIONS OF bench.py]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
stc=$(readlink -f "$1")
shift
python3 "$here/bench.py" "$@" "$stc"
python3 "$here/large.py" "$stc"
