# vectors.py KIND [TYPES]: kernel IR that moves vectors of every length of every type; KIND simt (also through shared arrays and between lanes) or host.
import sys
simt = sys.argv[1] == 'simt'
sizes = {'bool': 1, 'i8': 1, 'i16': 2, 'i32': 4, 'i64': 8, 'f16': 2, 'bf16': 2, 'f32': 4, 'f64': 8}
sizes = {t: sizes[t] for t in sizes if not sys.argv[2:] or t in sys.argv[2:]}
print('kernel module "vectors" {\n  grid [0 .. 511] steps 1')
for t in sizes:
    print(f'  field @A{t} : {t} on [0 .. 511] input\n  field @R{t} : {t} on [0 .. 511]')
for t in sizes:
    print(f'  buffer @A{t} : @A{t} copy 0\n  buffer @R{t} : @R{t} copy 0')
kernels = [(t, n) for t in sizes for n in (2, 4, 8) if n * sizes[t] <= 32]
threads = 32 if simt else 1
for t, n in kernels:
    print(f'  kernel @k_{t}_{n} threads [{threads}] covers [{512 // n}] by [{threads}] steps 1 {{\n    args (reads @A{t}, writes @R{t})')
    if simt:
        print(f'    shared @s : {t}[{32 * n}]')
    print('    %t = thread 0 : i32\n    %w = convert %t : i64\n    %b = block 0 : i64')
    print(f'    %threads = const {threads} : i64\n    %n = const {n} : i64\n    %m = const {n} : i32\n    %o = mul %b, %threads : i64\n    %p = add %o, %w : i64\n    %g = mul %p, %n : i64\n    %c = mul %t, %m : i32')
    names = ['%v' + str(i) for i in range(n)]
    print(f'    {", ".join(names)} = vload @A{t}[%g] : {t}')
    if simt:
        print(f'    avstore {", ".join(names)}, @s[%c] v0\n    %l = const {31 * n} : i32\n    %d = sub %l, %c : i32\n    barrier')
        names = ['%u' + str(i) for i in range(n)]
        print(f'    {", ".join(names)} = avload @s[%d] v0 : {t}')
        print(f'    %up = shuffle.up {names[0]} by 31 : {t}\n    %zero = const 0 : i32\n    %first = eq %t, %zero : bool\n    %last = eq %c, %l : bool')
        print(f'    %x = select %last, %up, {names[0]} : {t}\n    %down = shuffle.down {names[1]} by 31 : {t}\n    %y = select %first, %down, {names[1]} : {t}')
        names[:2] = ['%x', '%y']
    print(f'    vstore {", ".join(reversed(names))}, @R{t}[%g]\n  }}')
print('  host {\n    steps 1 {' + ''.join(f' launch @k_{t}_{n}' for t, n in kernels) + ' }\n  }\n}')
