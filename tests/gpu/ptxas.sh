#!/bin/bash
# Does ptxas take every example's PTX at default options, without spills?  tests/gpu/ptxas.sh STC [FOLDER-OF-EXAMPLES]
# Prints registers, spills and shared bytes of each kernel; exit status 1 if one is refused or spills.
set -u
stc=$(readlink -f "$1")
examples=${2:-$(cd "$(dirname "$0")" && pwd)/../../examples}
ptxas=$(command -v ptxas || ls /usr/local/cuda*/bin/ptxas 2>/dev/null | head -1)
[ -n "$ptxas" ] || { echo "ptxas not found"; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0 n=0
for f in "$examples"/*.stn; do
  for real in f32 f64; do
    for cpu in sm_80 sm_90; do
      label="$(basename "$f" .stn) $real $cpu"
      n=$((n + 1))
      if ! "$stc" -march=nvptx -mcpu=$cpu -freal=$real -o "$work/k.ptx" "$f" 2>"$work/log" || ! "$ptxas" -v -arch=$cpu -o /dev/null "$work/k.ptx" >"$work/log" 2>&1; then
        echo "FAIL $label"
        tail -5 "$work/log"
        bad=$((bad + 1))
        continue
      fi
      echo "$label: $(grep -o 'Used [0-9]* registers' "$work/log" | tr '\n' ' ')"
      if grep -q '[1-9][0-9]* bytes spill' "$work/log"; then
        echo "FAIL $label spills: $(grep -o '[0-9]* bytes spill[^,]*' "$work/log" | tr '\n' ' ')"
        bad=$((bad + 1))
      fi
    done
  done
done
echo "$n programs, $bad refused or with spills"
[ $bad = 0 ]
