#!/bin/bash
# Packs the executables that the scripts of this folder need where there is no build: tests/gpu/pack.sh BUILD ARCHIVE.tar.xz
# BUILD is a tree made with -DSTC_LLVM_STATIC=ON, its targets stc and differential up to date. The two are nearly the same code, and so together take little more room than one: 25 MB.
set -eu
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
strip -o "$work/stc" "$build/stc"
strip -o "$work/differential" "$build/tests/differential"
tar -cf - -C "$work" stc differential | xz -T1 --lzma2=preset=1,dict=256MiB,nice=64 >"$2"
ls -l "$2"
