#!/bin/bash
# All that docs/performance.md says of a GPU, measured in a given time, the most telling first.
#
#   tests/gpu/all.sh STC SECONDS FOLDER
#
# Needs the stc program, `differential` beside it or in tests/ beside it, and Python. Each part has seconds of its own, of those that are left; PARTS names the parts and their order, with other seconds if wanted:
# PARTS="bench:300 counters".
#
#   verify     what stc chooses, on small, odd and large grids, against the reference (check.py, stage defaults)
#   bench      the families of schedules on large grids (stc bench)
#   small      small grids (small.py)
#   tune       the tuner for each program, TUNE seconds (16) a type and size, beside the default (stc bench --tune)
#   counters   what ncu counts (counters.py)
#   check      many schedules against the reference (check.py, edges and shapes)
#   random     random programs (differential.py)
#   ops        every op on every type against the simulator (ops.py)
#   roots      roots and quotients, all of f32 and the hard ones of f64 (roots.py; needs numpy)
#   sanitizer  compute-sanitizer (check.py, racecheck and memcheck)
#   huge       50000 x 50000 points (large.py)
#
# FOLDER gets results.tgz, the logs and files of all parts, and summary.txt, the end of each log and the tables of table.py. Both are written anew every 15 seconds and after each part, so that they are there if
# something ends the script. PROGRAMS, TYPES, SIZE, TUNE_SIZE and DEVICE restrict or replace what bench and tune take. Exit status 1 if a part failed, but not if it was cut.
set -u
stc=$(readlink -f "$1") seconds=$2 start=$SECONDS
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$3"
out=$(cd "$3" && pwd)
device=${DEVICE:-cuda}
programs=${PROGRAMS:-star2d1r,star3d1r,box2d1r,box3d1r,star3d2r,gradient2d,star2d2r,box2d2r,star2d4r,star1d1r,fdtd2d,gray_scott,rician2d,acoustic_wave,star1d3r,anisotropic_diffusion}
types=${TYPES:-f32,f64}
size=${SIZE:-large}
tune_size=${TUNE_SIZE:-16384x16384,768x768x768,268435456}
harness=$(dirname "$stc")/differential
[ -x "$harness" ] || harness=$(dirname "$stc")/tests/differential
work=$(mktemp -d) cache=$(mktemp -d)
export CUDA_CACHE_PATH=$cache CUDA_CACHE_MAXSIZE=4294967296 PYTHONUNBUFFERED=1
mkdir "$work/results"
cd "$work/results" || exit 2
failed=0

# save: all that there is into FOLDER, each file in one go.
save() {
  tar -czf "$work/tgz" -C "$work" results 2>/dev/null
  mv -f "$work/tgz" "$out/results.tgz"
  cp summary "$work/summary" && mv -f "$work/summary" "$out/summary.txt"
}

# save_often: as long as the script is there.
save_often() {
  while sleep 15 && kill -0 $$ 2>/dev/null; do save; done
}

# shellcheck disable=SC2317  # called by the trap
finish() {
  kill "$saver" 2>/dev/null
  wait "$saver" 2>/dev/null
  save
  rm -rf "$work" "$cache"
}

# note: its input into the summary and to standard output.
note() { tee -a summary; }

# part NAME SECONDS COMMAND...: runs it, at most that long and 20 seconds to end by itself; its log is NAME.log.
part() {
  local name=$1 limit=$2 status=0 begun=$SECONDS
  shift 2
  timeout --signal=INT --kill-after=20 "$limit" "$@" >"$name.log" 2>&1 || status=$?
  {
    echo
    echo "== $name: status $status, $((SECONDS - begun)) s"
    grep -m 8 "^FAIL" "$name.log" | cut -c -200
    tail -n 12 "$name.log" | cut -c -400
  } | note
  [ "$status" = 0 ] || [ "$status" = 124 ] || [ "$status" = 130 ] || failed=1
  save
}

# run_part NAME SECONDS: one of the parts.
run_part() {
  local name=$1 limit=$2 own=$(($2 - $2 / 12 - 2))
  case $name in
    verify) part "$name" "$limit" python3 "$here/check.py" --device="$device" --stages=defaults --budget="$own" "$stc" "$harness" ;;
    bench) part "$name" "$limit" "$stc" bench --no-tune-db --device="$device" --programs="$programs" --types="$types" --size="$size" --seconds="$own" --json bench.json ;;
    tune) part "$name" "$limit" "$stc" bench --device="$device" --programs="$programs" --types="$types" --size="$tune_size" --tune="${TUNE:-16}" --db tune.db --seconds="$own" --json tuned.json ;;
    small) part "$name" "$limit" python3 "$here/small.py" --device="$device" --types="$types" ${PROGRAMS:+--programs="$programs"} --budget="$own" --csv=small.csv "$stc" ;;
    counters) mkdir -p ncu && part "$name" "$limit" python3 "$here/counters.py" --folder=ncu --budget="$own" "$stc" ;;
    check) part "$name" "$limit" python3 "$here/check.py" --device="$device" --stages=edges,shapes --budget="$own" "$stc" "$harness" ;;
    random) part "$name" "$limit" python3 "$here/../programs/differential.py" "$harness" --device="$device" --seed=1000 --programs=20000 --seconds="$own" --keep=random ;;
    ops) part "$name" "$limit" python3 "$here/ops.py" "$stc" "$device" ;;
    roots) part "$name" "$limit" python3 "$here/roots.py" --device="$device" --seconds="$own" "$stc" ;;
    sanitizer) part "$name" "$limit" python3 "$here/check.py" --device="$device" --stages=racecheck,memcheck --budget="$own" "$stc" "$harness" ;;
    huge) part "$name" "$limit" python3 "$here/large.py" --device="$device" "$stc" ;;
    *) echo "all.sh: there is no part \`$name\`" | note && failed=1 ;;
  esac
}

# tables: those of the files of the bench, if any.
tables() {
  local files=()
  for f in bench.json tuned.json; do [ ! -s "$f" ] || files+=("$f"); done
  [ ${#files[@]} = 0 ] || python3 "$here/../bench/table.py" "${files[@]}"
}

date -u +"all.sh of %Y-%m-%d %H:%M:%S UTC" >summary
nvidia-smi --query-gpu=name,driver_version,clocks.sm,power.limit --format=csv,noheader >>summary 2>/dev/null
save_often &
saver=$!
trap finish EXIT
trap 'exit 143' TERM INT
for name in ${PARTS:-verify:90 bench:400 small:100 tune:300 counters:150 check:150 random:100 ops:20 roots:30 sanitizer:60 huge:60}; do
  limit=${name#*:} left=$((seconds - (SECONDS - start)))
  name=${name%%:*}
  [ "$limit" != "$name" ] || limit=$left
  [ "$limit" -le "$left" ] || limit=$left
  if [ "$limit" -lt 5 ]; then
    echo "== $name: no time left" | note
  else
    run_part "$name" "$limit"
  fi
done
echo | note
tables 2>&1 | note
exit $failed
