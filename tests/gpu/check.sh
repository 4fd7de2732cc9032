#!/bin/bash
# Every example on a CUDA device against the reference.
#
#   tests/gpu/check.sh STC [FOLDER-OF-EXAMPLES]
#
# Needs the stc program, bash, and a CUDA device. Small sizes under naive, overlap and stream with several T, blocks and elements, f32 and f64, and one large size,
# all bit for bit (-fno-contract --check); then memcheck and racecheck by compute-sanitizer where it is found. Prints a line for each failure and the totals;
# exit status 1 if anything failed. JOBS runs go at a time (default 8). DEVICE names another device than cuda; ONLY is a pattern that
# the labels of the runs must match (as "j2d5pt f32 small").
set -u
stc=$(readlink -f "$1")
here=$(cd "$(dirname "$0")" && pwd)
examples=${2:-$here/../../examples}
export stc work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
touch "$work/passed" "$work/illegal"
jobs=${JOBS:-8}
export device=${DEVICE:-cuda} only=${ONLY:-.}

# one LABEL COMMAND...: runs it; a failure goes to its own file in $work.
one() {
  local label=$1 status=0 log=$work/log.$BASHPID fail=$work/fail.$BASHPID
  shift
  timeout 120 "$@" >"$log" 2>&1 || status=$?
  if [ $status = 0 ]; then echo "$label" >>"$work/passed"
  elif [ $status != 1 ] && grep -qi "nearest legal\|near it is legal\|share a launch\|go one a launch\|-schedule=stream: .*\(use -schedule=overlap\|take fewer time steps\|take a smaller\)" "$log"; then echo "$label" >>"$work/illegal"
  else
    { echo "FAIL ($status) $label: $*"; tail -15 "$log"; } >"$fail"
    cat "$fail"
  fi
  rm -f "$log"
}
export -f one

# rank FILE: the rank of a program, by its params.
rank() {
  case $(grep -o '\<L = ' "$1" | head -1)$(grep -o '\<M = ' "$1" | head -1) in
    *L*) echo 3 ;;
    *M*) echo 2 ;;
    *) echo 1 ;;
  esac
}

# grid RANK SMALL|LANES|LARGE|ODD: -D options. The rows of "lanes" are multiples of 8.
grid() {
  case $1-$2 in
    1-small) echo -DN=1000 ;; 2-small) echo -DN=100 -DM=130 ;; 3-small) echo -DN=33 -DM=30 -DL=45 ;;
    1-lanes) echo -DN=1024 ;; 2-lanes) echo -DN=37 -DM=264 ;; 3-lanes) echo -DN=21 -DM=18 -DL=64 ;;
    1-odd) echo -DN=257 ;; 2-odd) echo -DN=3 -DM=71 ;; 3-odd) echo -DN=5 -DM=2 -DL=40 ;;
    1-large) echo -DN=5000001 ;; 2-large) echo -DN=2050 -DM=3001 ;; 3-large) echo -DN=130 -DM=200 -DL=257 ;;
  esac
}

# inputs FILE: --in options for what a program cannot do without.
inputs() {
  case $(basename "$1") in
    acoustic_wave.stn) echo "--in source=$(dirname "$1")/inputs/ricker.npy" ;;
  esac
}

# shapes RANK: blocks and elements tried.
shapes() {
  case $1 in
    1) echo "128:4 256:2 96:3" ;;
    2) echo "8x32:8x2 16x16:3x3 4x32:12x1" ;;
    3) echo "4x4x32:6x6x1 4x8x16:5x3x2 8x8x8:3x3x3" ;;
  esac
}

# walks RANK: tiles that are walked, BLOCK:ELEMS:CHUNK:AHEAD.
walks() {
  case $1 in
    1) echo "128:16:0:1 32:1:0:1 64:5:0:1" ;;
    2) echo "4x32:1x4:64:4 1x32:1x2:7:1 2x32:1x1:16:6 4x32:1x8:32:2" ;;
    3) echo "1x16x32:1x2x4:32:3 1x4x32:1x2x2:5:1 1x8x32:1x3x1:16:4" ;;
  esac
}

# walk SHAPE: the options.
walk() {
  local block elems chunk ahead
  IFS=: read -r block elems chunk ahead <<<"$1"
  echo "-schedule=stream -block=$block -elems=$elems -ahead=$ahead" "$([ "$chunk" = 0 ] || echo "-chunk=$chunk")"
}

# list_all: all runs as lines "LABEL|ARGUMENTS".
list_all() {
  local f name r size real T shape in
  for f in "$examples"/*.stn; do
    name=$(basename "$f" .stn) r=$(rank "$f") in=$(inputs "$f")
    for real in f32 f64; do
      for size in small lanes odd; do
        echo "$name $real $size naive|$(grid "$r" $size) -freal=$real -schedule=naive --steps=7 $in $f"
        echo "$name $real $size default|$(grid "$r" $size) -freal=$real --steps=7 $in $f"
        for T in 1 2 3 5 8; do
          for shape in $(shapes "$r"); do
            echo "$name $real $size T=$T $shape|$(grid "$r" $size) -freal=$real -schedule=overlap -T=$T -block=${shape%:*} -elems=${shape#*:} --steps=$((2 * T + 1)) $in $f"
          done
          for shape in $(walks "$r"); do
            echo "$name $real $size stream T=$T $shape|$(grid "$r" $size) -freal=$real $(walk "$shape") -T=$T --steps=$((2 * T + 1)) $in $f"
          done
        done
      done
    done
    echo "$name f32 large|$(grid "$r" large) --steps=5 $in $f"
    echo "$name f32 large stream|$(grid "$r" large) -schedule=stream --steps=5 $in $f"
    echo "$name f32 large naive|$(grid "$r" large) -schedule=naive --steps=3 $in $f"
  done
}

list() { list_all | grep -e "$only"; }
total=$(list | wc -l)
echo "$total runs against the reference, $jobs at a time"
list | while IFS='|' read -r label arguments; do printf '%s\0%s\0' "$label" "$arguments"; done |
  xargs -0 -n 2 -P "$jobs" bash -c 'one "$0" "$stc" run --device=$device -fno-contract --check $1'
passed=$(wc -l <"$work/passed")
illegal=$(wc -l <"$work/illegal")
failed=$(ls "$work" | grep -c '^fail\.')
echo "against the reference: $passed passed, $illegal refused as illegal, $failed failed"

sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | head -1)
if [ -n "$sanitizer" ]; then
  export sanitizer
  : >"$work/passed"
  for f in "$examples"/*.stn; do
    for tool in memcheck racecheck; do
      for schedule in -schedule=naive "-schedule=overlap -T=2" "-schedule=overlap -T=3" "-schedule=stream -T=2"; do
        printf '%s\0%s\0' "$tool $(basename "$f" .stn) $schedule" "--tool $tool --error-exitcode 9 $stc run --device=$device $(grid "$(rank "$f")" small) $schedule --steps=4 $(inputs "$f") $f"
      done
    done
  done | xargs -0 -n 2 -P "$jobs" bash -c 'one "$0" "$sanitizer" $1'
  clean=$(wc -l <"$work/passed")
  failed=$(ls "$work" | grep -c '^fail\.')
  echo "compute-sanitizer: $clean clean; failures in all: $failed"
else
  echo "compute-sanitizer: not found"
fi
[ "$failed" = 0 ] && [ "$passed" -gt $((total / 2)) ]
