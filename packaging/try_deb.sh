#!/bin/bash
# packaging/try_deb.sh DEB, as root, in a bare image or a chroot of Debian 12 or later: installs the package by apt, with what it depends on and
# nothing else, and runs an example on the CPU. Then, with a C compiler, CMake and Open MPI: a program in C of each of the three ways of
# docs/howto/c.md, and two processes with the module that is made of stc-mpi.c. At the end the package is removed, and leaves no file.
set -eu
deb=$(realpath "$1")
export DEBIAN_FRONTEND=noninteractive OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# Words for apt, which installs them.
install() { apt-get install -q -y --no-install-recommends "$@"; }

apt-get update -q
install "$deb"
cat >heat.stn <<'END'
param N = 64;
grid  G = [0 .. N-1, 0 .. N-1], 100;
field u : f32 on G outside clamp;
init hot(u)[G] = if idx(1) < 20 then 1 else 0;
stencil heat(u)[G] = u + 0.2 * (u[-1,0] + u[1,0] + u[0,-1] + u[0,1] - 4 * u);
END
stc --version
stc devices
stc run --quiet --check --out u=one.npy --png u=heat.png -fno-contract heat.stn
stc -march=nvptx -mcpu=sm_90 -o heat.ptx heat.stn
# Slim images leave out documentation.
example=/usr/share/doc/stc/examples/gray_scott.stn
if [ -e $example ]; then stc run --steps=20 --check $example; fi

install gcc libc6-dev libgomp1 cmake make pkg-config libopenmpi-dev openmpi-bin man-db
if [ -e /usr/share/man/man1/stc.1.gz ]; then man --warnings=w -P cat stc >manual.txt && grep -q "stc run" manual.txt; fi
cat >main.c <<'END'
#include "heat.h"
#include <stdio.h>
static float u[64 * 64];
int main(void) {
  heat_params p = heat_defaults();
  const char *wrong = heat_bind(&p);
  if (!wrong)
    wrong = heat_init(&p, u);
  if (!wrong)
    wrong = heat_run(&p, 0, 100, u);
  puts(wrong ? wrong : "an object and a header");
  return wrong != NULL;
}
END
cat >library.c <<'END'
#include <stc.h>
#include <stdio.h>
int main(void) {
  StcContext *context = stc_context_new(NULL);
  StcProgram *program = NULL;
  StcPlan *plan = NULL;
  StcRunInfo info = {0};
  StcStatus status = stc_compile_file(context, "heat.stn", NULL, &program);
  if (!status)
    status = stc_plan_new(program, "host", 0, NULL, &plan);
  if (!status)
    status = stc_plan_run(plan, 100, &info);
  printf("libstc: %lld steps\n", (long long)info.steps);
  stc_plan_free(plan);
  stc_program_free(program);
  stc_context_free(context);
  return status || info.steps != 100;
}
END
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.22)
project(tried C)
find_package(stc REQUIRED)
stc_add_program(heat heat.stn ARCH host sm_90)
add_executable(main main.c)
target_link_libraries(main PRIVATE heat)
add_executable(library library.c)
target_link_libraries(library PRIVATE stc::stc)
END
cmake -S . -B build >/dev/null
cmake --build build
build/main
build/library
# shellcheck disable=SC2046 # a word for each option
cc library.c $(pkg-config --cflags --libs stc) -o by_pkgconfig
./by_pkgconfig
stc -march=nvptx -mcpu=sm_90 -emit=launcher -o launcher.c heat.stn
cc -c launcher.c

mpicc -shared -fPIC -o stc-mpi.so /usr/share/stc/stc-mpi.c
STC_MPI=$PWD/stc-mpi.so mpirun -n 2 --oversubscribe stc run --device=host --out u=two.npy -fno-contract heat.stn
cmp one.npy two.npy

dpkg -L stc >files.txt
apt-get remove -q -y stc
while read -r file; do
  if [ -e "$file" ] && [ ! -d "$file" ]; then echo "try_deb.sh: $file is still there" >&2; exit 1; fi
done <files.txt
echo "try_deb.sh: all of it works"
