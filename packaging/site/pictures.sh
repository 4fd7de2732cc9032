#!/bin/bash
# pictures.sh STC: draws the pictures at the top of the README, which are kept in docs/pictures: a pattern of Gray-Scott, the drum's waves,
# and the tiles of programs in time.
set -eu
stc=$(readlink -f "$1")
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p docs/pictures
"$stc" run --quiet --no-tune-db -DN=160 -DM=240 --steps=4000 --png V=docs/pictures/gray_scott.png examples/gray_scott.stn
sed -n '/^param N = 256, M = 256, c2/,/^until/p' README.md > "$work/drum.stn"
"$stc" run --quiet --no-tune-db -DN=160 -DM=240 --steps=150 --colors=bluered --limits=-0.15,0.15 --png u=docs/pictures/drum.png "$work/drum.stn"
printf 'param N = 4096; grid G = [0 .. N-1], 64; field A : f32 on G; stencil s(A)[1 .. N-2] = 0.25 * (A[-1] + 2 * A + A[1]);' > "$work/tiles.stn"
"$stc" explain --no-tune-db --no-ptxas -schedule=overlap -T=8 -block=64 -elems=1 -o docs/pictures/tiles.svg "$work/tiles.stn" > /dev/null
sed -n '/^\/\/ heat.stn/,/^stencil/p' docs/how-it-works.md > "$work/heat.stn"
"$stc" explain --no-tune-db --no-ptxas --card=h200 -schedule=stream -T=4 -DN=4096 -DM=4096 -o docs/pictures/streamed.svg "$work/heat.stn" > /dev/null
ls -l docs/pictures
