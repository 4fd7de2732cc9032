"""long_kernel.py N [TYPE [K]]: kernel IR of K kernels, of 1 by default, with N sums of what they load, f32 or f64, one behind the other."""
import sys

n = int(sys.argv[1])
real = sys.argv[2] if len(sys.argv) > 2 else "f32"
names = ["long"] if len(sys.argv) < 4 else [f"long{i}" for i in range(int(sys.argv[3]))]
print(f"""kernel module "k" {{
  grid [0 .. 63] steps 1
  field @u : {real} on [0 .. 63] outside const 0.0
  buffer @u : @u copy 0""")
for name in names:
    print(f"""  kernel @{name} threads [64] covers [64] by [64] steps 1 {{
    args (reads writes @u)
    %0 = thread 0 : i32
    %1 = convert %0 : i64
    %2 = load @u[%1] : {real}""")
    for i in range(n):
        print(f"    %{i + 3} = add %{i + 2}, %2 : {real}")
    print(f"""    store %{n + 2}, @u[%1]
  }}""")
print("  host {\n    init {\n    }\n    steps 1 {")
for name in names:
    print(f"      launch @{name}")
print("    }\n  }\n}")
