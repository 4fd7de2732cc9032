#!/bin/bash
# aarch64.sh FOLDER [TEST...]: builds stc for AArch64 into FOLDER on an x86-64 machine with Debian 12, whose packages of the libraries, for AArch64, are
# unpacked into FOLDER/root, and runs these unit tests (those of the languages, the IR and the passes, if none are named) and a program under
# qemu-user. Needs gcc-aarch64-linux-gnu, g++-aarch64-linux-gnu and qemu-user, and what ./bootstrap installs. Some 2 minutes for compiling on a quiet core,
# as much for the tests; not part of CI.
#
# Left out are tests of many minutes in the emulator, those that open stand-ins for drivers, leaks_test, and host_pool_test: qemu-user 7.2 itself ends by
# an assertion where a thread starts behind fork.
set -eu
folder=$(realpath -m "$1")
shift
source=$(cd "$(dirname "$0")/.." && pwd)
root=$folder/root
multiarch=aarch64-linux-gnu
packages="libllvm22 llvm-22-dev libzstd-dev zlib1g-dev libjansson-dev libpng-dev libhdf5-dev libaec-dev libcmocka-dev libc6-dev"
tests=${*:-"ir_core ir_eval ir_verify frontend_syntax frontend_types frontend_time frontend_sums frontend_regions frontend_names frontend_launch
  frontend_diff frontend_composite passes_pipeline passes_ranges interp cells halo bind estimate files narrow_literal knobs"}

# unpack: fetches the packages and what they depend on by an apt of their own, which knows of AArch64 alone, and unpacks them. Nothing is installed.
unpack() {
  local apt=$folder/apt d
  [ -e "$root/done" ] && return
  mkdir -p "$apt"/state/lists/partial "$apt"/cache/archives/partial "$root"
  : > "$apt/state/status"
  set -- -o Dir::State="$apt/state" -o Dir::State::status="$apt/state/status" -o Dir::Cache="$apt/cache" -o APT::Architecture=arm64 \
    -o APT::Architectures::=arm64 -o APT::Install-Recommends=false
  apt-get "$@" -q update
  # shellcheck disable=SC2086 # a word for each package
  apt-get "$@" -q -y --download-only install $packages
  for d in "$apt"/cache/archives/*.deb; do dpkg-deb -x "$d" "$root"; done
  # What Debian's alternatives would link.
  ln -sf hdf5-serial.pc "$root/usr/lib/$multiarch/pkgconfig/hdf5.pc"
  touch "$root/done"
}

write_toolchain() {
  cat > "$folder/toolchain.cmake" <<END
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER $multiarch-gcc)
set(CMAKE_CXX_COMPILER $multiarch-g++)
set(CMAKE_LIBRARY_ARCHITECTURE $multiarch)
set(CMAKE_FIND_ROOT_PATH $root)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(what LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_\${what} ONLY)
endforeach()
set(ENV{PKG_CONFIG_LIBDIR} $root/usr/lib/$multiarch/pkgconfig:$root/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} $root)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,$root/usr/lib/$multiarch:$root/lib/$multiarch")
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64;-L;$root;-E;LD_LIBRARY_PATH=$libraries")
END
}

libraries=$root/usr/lib/$multiarch:$root/lib/$multiarch:$root/usr/lib/$multiarch/hdf5/serial
emulated() { timeout 600 qemu-aarch64 -L "$root" -E LD_LIBRARY_PATH="$libraries" "$@"; }

unpack
write_toolchain
cmake -G Ninja -S "$source" -B "$folder/build" --toolchain "$folder/toolchain.cmake" -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=ON -DSTC_SHARED=OFF
# shellcheck disable=SC2086 # a word for each test
ninja -C "$folder/build" stc $(printf 'tests/%s_test ' $tests)
cd "$folder/build/tests"
for name in $tests; do
  emulated "./${name}_test" > "$folder/$name.log" 2>&1 || { cat "$folder/$name.log"; echo "aarch64.sh: $name failed" >&2; exit 1; }
  echo "$name: $(grep -c '       OK' "$folder/$name.log") tests"
done
emulated "$folder/build/stc" run --quiet --no-tune-db --check -O1 -DN=64 -DM=64 --steps=10 "$source/examples/j2d5pt.stn"
emulated "$folder/build/stc" -o "$folder/heat.o" "$source/examples/j2d5pt.stn"
$multiarch-readelf -h "$folder/heat.o" | grep -q AArch64
echo "aarch64.sh: all passed"
