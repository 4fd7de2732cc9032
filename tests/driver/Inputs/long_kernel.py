"""long_kernel.py N: kernel IR of a kernel with N sums of what it loads, one behind the other."""
import sys

n = int(sys.argv[1])
print("""kernel module "k" {
  grid [0 .. 63] steps 1
  field @u : f32 on [0 .. 63] outside const 0.0
  buffer @u : @u copy 0
  kernel @long threads [64] covers [64] by [64] steps 1 {
    args (reads writes @u)
    %0 = thread 0 : i32
    %1 = convert %0 : i64
    %2 = load @u[%1] : f32""")
for i in range(n):
    print(f"    %{i + 3} = add %{i + 2}, %2 : f32")
print(f"""    store %{n + 2}, @u[%1]
  }}
  host {{
    init {{
    }}
    steps 1 {{
      launch @long
    }}
  }}
}}""")
