#!/bin/bash
# Runs a fuzz target: run.sh TARGET-EXECUTABLE stn|ir SECONDS SOURCE-ROOT
# The seeds are the examples, the test programs and tests/fuzz/corpus-KIND; for ir also the lit tests' .sir and .kir files and
# what stc prints for the examples, where the command is at hand. New inputs go to a folder of their own, thrown away at the end; a crash leaves its input in
# the working directory and fails.
set -eu
target=$1 kind=$2 seconds=$3 root=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/seeds" "$work/new"
if [ "$kind" = stn ]; then
  find "$root/examples" "$root/tests" -name '*.stn' -size -16k -print0
else
  find "$root/tests" \( -name '*.sir' -o -name '*.kir' \) -size -64k -print0
  stc=$(dirname "$target")/../stc
  if [ -x "$stc" ]; then
    for f in "$root"/examples/*.stn; do
      n=$work/seeds/$(basename "$f" .stn)
      "$stc" -emit=sir -o "$n.sir" "$f" 2>/dev/null || true
      "$stc" -emit=kir -march=nvptx -schedule=naive -o "$n.kir" "$f" 2>/dev/null || true
    done
  fi
fi | { i=0; while IFS= read -r -d '' f; do i=$((i + 1)); cp "$f" "$work/seeds/$i-$(basename "$f")"; done; }
[ -d "$root/tests/fuzz/corpus-$kind" ] && cp "$root/tests/fuzz/corpus-$kind"/* "$work/seeds/"
echo "seeds: $(ls "$work/seeds" | wc -l)"
dictionary=()
[ -f "$root/tests/fuzz/$kind.dict" ] && dictionary=("-dict=$root/tests/fuzz/$kind.dict")
if [ "$seconds" = 0 ]; then
  "$target" -runs=0 "$work/seeds"
else
  "$target" "${dictionary[@]}" -max_total_time="$seconds" -timeout=120 -rss_limit_mb=3000 -max_len=8192 -print_final_stats=1 -verbosity=1 \
    "$work/new" "$work/seeds" 2>&1 | grep -v '^#[0-9]*[[:space:]]*\(NEW\|REDUCE\|pulse\)' | tail -60
  exit "${PIPESTATUS[0]}"
fi
