#!/bin/bash
# Does ptxas take the PTX of every example and test program?  tests/gpu/ptxas.sh STC [--short] [-v] [FOLDER..]
# In f32 for sm_70 (a ptxas that knows none older assembles it for the oldest that it knows), in f64 for sm_80, and for sm_90 with a launch a stencil and all
# checks (--short: each program in one of these ways, the next in the next); some with walked tiles, too. Names those that spill registers; -v prints the registers of each kernel. Exit status 1 if one is refused; 2 if there is no ptxas.
set -u
stc=$(readlink -f "$1")
shift
verbose= short=
[ "${1-}" = --short ] && short=1 && shift
[ "${1-}" = -v ] && verbose=1 && shift
tests=$(cd "$(dirname "$0")/.." && pwd)
[ $# = 0 ] && set -- "$tests/../examples" "$tests/programs"
ptxas=$(command -v ptxas || ls /usr/local/cuda*/bin/ptxas 2>/dev/null | head -1)
[ -n "$ptxas" ] || { echo "ptxas not found"; exit 2; }
oldest=$("$ptxas" --help | grep -o "'sm_[0-9]*'" | tr -dc '0-9\n' | sort -n | head -1)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0 spilling=0 n=0 programs=0
for folder in "$@"; do
  for f in "$folder"/*.stn; do
    ways=("70 -freal=f32" "80 -freal=f64" "90 -fuse=none -fcheck=finite -fcheck=bounds")
    programs=$((programs + 1))
    [ -z "$short" ] || ways=("${ways[$((programs % 3))]}")
    case $(basename "$f" .stn) in
      j1d5pt | j2d5pt | j3d7pt | fdtd2d | acoustic_wave | storage) ways+=("90 -schedule=stream" "75 -schedule=stream -T=1") ;;
    esac
    for how in "${ways[@]}"; do
      cpu=${how%% *} label="$(basename "$f" .stn) sm_$how"
      n=$((n + 1))
      # shellcheck disable=SC2086
      if ! "$stc" -march=nvptx -mcpu=sm_$how -o "$work/k.ptx" "$f" 2>"$work/log" ||
        ! "$ptxas" -v -arch=sm_$((cpu < oldest ? oldest : cpu)) -o /dev/null "$work/k.ptx" >"$work/log" 2>&1; then
        echo "FAIL $label"
        tail -5 "$work/log"
        bad=$((bad + 1))
        continue
      fi
      [ -z "$verbose" ] || echo "$label: $(grep -o 'Used [0-9]* registers' "$work/log" | tr '\n' ' ')"
      if grep -q '[1-9][0-9]* bytes spill' "$work/log"; then
        echo "$label spills: $(grep -o '[1-9][0-9]* bytes spill[^,]*' "$work/log" | tr '\n' ' ')"
        spilling=$((spilling + 1))
      fi
    done
  done
done
echo "$n programs, $bad refused, $spilling with spills"
[ $bad = 0 ]
