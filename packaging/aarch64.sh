#!/bin/bash
# aarch64.sh FOLDER [TEST...]: builds stc for AArch64 into FOLDER on an x86-64 machine with Debian 12, and runs these unit tests (those of the languages,
# the IR and the passes, if none are named) and two programs under qemu-user. clang-22 and lld-22, which know all targets, compile for it; Debian's
# packages of the libraries, for AArch64, are unpacked into FOLDER/root, and nothing is installed. Needs qemu-user, and what ./bootstrap test installs.
# Ends with 77, as ctest wants it of a test that cannot run, where there is no qemu-user or the packages cannot be had. Part of ./bootstrap test: some
# 90 s of one core, most of them for compiling, without optimisation, which takes half the time, and by the quicker selection of instructions, which
# takes a fifth less; what the tests do is short.
#
# Left out are tests of many minutes in the emulator, those that open stand-ins for drivers, leaks_test, and host_pool_test: qemu-user 7.2 itself ends by
# an assertion where a thread starts behind fork.
set -eu
folder=$(realpath -m "$1")
shift
source=$(cd "$(dirname "$0")/.." && pwd)
root=$folder/root
multiarch=aarch64-linux-gnu
packages="libllvm22 llvm-22-dev libzstd-dev zlib1g-dev libjansson-dev libpng-dev libhdf5-dev libaec-dev libcmocka-dev libc6-dev libstdc++-12-dev"
# What these packages depend on and nothing here uses.
unused="dpkg|icu-devtools|libclang-cpp22|libicu-dev|libpython3.*|libxml2-dev|libz3-dev|llvm-22|llvm-22-tools|ncurses-bin|python3.*|tar"
tests=${*:-"ir_core ir_eval ir_verify frontend_syntax frontend_types frontend_time frontend_sums frontend_regions frontend_names frontend_launch
  frontend_diff frontend_composite passes_pipeline passes_ranges interp cells halo bind estimate files narrow_literal knobs"}

# skip WHY: ends, as a test that cannot run here.
skip() {
  echo "aarch64.sh: skipped: $1"
  exit 77
}

# unpack: fetches the packages and what they depend on by an apt of their own, which knows of AArch64 alone, and unpacks them.
unpack() {
  local apt=$folder/apt link
  [ -e "$root/done" ] && return
  mkdir -p "$apt"/state/lists/partial "$apt"/cache/archives/partial "$root"
  : > "$apt/state/status"
  set -- -o Dir::State="$apt/state" -o Dir::State::status="$apt/state/status" -o Dir::Cache="$apt/cache" -o APT::Architecture=arm64 \
    -o APT::Architectures::=arm64 -o APT::Install-Recommends=false
  # shellcheck disable=SC2086 # a word for each package
  { apt-get "$@" -q update && apt-get "$@" -q -y --download-only install $packages; } > "$folder/apt.log" 2>&1 ||
    skip "Debian's packages for AArch64 cannot be had; $folder/apt.log says why"
  find "$apt/cache/archives" -name '*.deb' -regextype posix-extended -not -regex ".*/($unused)_[^/]*" -print0 | xargs -0 -I FILE dpkg-deb -x FILE "$root"
  rm -r "$apt/cache"
  # Links from the root of a system, and what Debian's alternatives would link.
  find "$root" -lname '/*' | while read -r link; do ln -snf "$root$(readlink "$link")" "$link"; done
  ln -sf hdf5-serial.pc "$root/usr/lib/$multiarch/pkgconfig/hdf5.pc"
  touch "$root/done"
}

write_toolchain() {
  cat > "$folder/toolchain.cmake" <<END
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER clang-22)
set(CMAKE_CXX_COMPILER clang++-22)
set(CMAKE_C_COMPILER_TARGET $multiarch)
set(CMAKE_CXX_COMPILER_TARGET $multiarch)
set(CMAKE_SYSROOT $root)
set(CMAKE_LIBRARY_ARCHITECTURE $multiarch)
set(CMAKE_FIND_ROOT_PATH $root)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(what LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_\${what} ONLY)
endforeach()
set(ENV{PKG_CONFIG_LIBDIR} $root/usr/lib/$multiarch/pkgconfig:$root/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} $root)
foreach(kind EXE SHARED MODULE)
  set(CMAKE_\${kind}_LINKER_FLAGS_INIT "--ld-path=$(command -v ld.lld-22) -Wl,--as-needed")   # LLVM takes most of a test's time to load there
endforeach()
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64;-L;$root;-E;LD_LIBRARY_PATH=$libraries")
END
}

libraries=$root/usr/lib/$multiarch:$root/lib/$multiarch:$root/usr/lib/$multiarch/hdf5/serial
emulated() { timeout 600 qemu-aarch64 -L "$root" -E LD_LIBRARY_PATH="$libraries" "$@"; }

command -v qemu-aarch64 > /dev/null || skip "there is no qemu-aarch64 (Debian: qemu-user)"
mkdir -p "$folder"
unpack
write_toolchain
cmake -G Ninja -S "$source" -B "$folder/build" --toolchain "$folder/toolchain.cmake" -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=ON \
  -DSTC_SHARED=OFF -DCMAKE_C_FLAGS_RELEASE="-O0 -fno-global-isel -DNDEBUG" > "$folder/cmake.log" 2>&1 || { cat "$folder/cmake.log"; exit 1; }
# shellcheck disable=SC2086 # a word for each test
ninja -C "$folder/build" -j "${STC_JOBS:-2}" stc $(printf 'tests/%s_test ' $tests) > "$folder/ninja.log" || { cat "$folder/ninja.log"; exit 1; }
cd "$folder/build/tests"
for name in $tests; do
  emulated "./${name}_test" > "$folder/$name.log" 2>&1 || { cat "$folder/$name.log"; echo "aarch64.sh: $name failed" >&2; exit 1; }
  echo "$name: $(grep -c '       OK' "$folder/$name.log") tests"
done
emulated "$folder/build/stc" run --quiet --no-tune-db --check -O1 -DN=64 -DM=64 --steps=10 "$source/examples/j2d5pt.stn"
emulated "$folder/build/stc" -O0 -o "$folder/heat.o" "$source/examples/j2d5pt.stn"
readelf -h "$folder/heat.o" | grep -q AArch64
echo "aarch64.sh: all passed"
