# narrow.py: kernel IR with a kernel TYPE_NARROW for each conversion to f16 and bf16.
types = ['bool', 'i8', 'i16', 'u8', 'u16', 'i32', 'i64', 'f32', 'f64']
pairs = [(t, u) for u in ('f16', 'bf16') for t in types]
print('kernel module "narrow" {\n  grid [0 .. 63] steps 1')
for t in types:
    print(f'  field @A{t} : {t} on [0 .. 63] input')
for t, u in pairs:
    print(f'  field @R{t}{u} : {u} on [0 .. 63]')
for t in types:
    print(f'  buffer @A{t} : @A{t} copy 0')
for t, u in pairs:
    print(f'  buffer @R{t}{u} : @R{t}{u} copy 0')
for t, u in pairs:
    print(f'''  kernel @{t}_{u} threads [64] covers [64] by [64] steps 1 {{
    args (reads @A{t}, writes @R{t}{u})
    %t = thread 0 : i32
    %g = convert %t : i64
    %x = load @A{t}[%g] : {t}
    %r = convert %x : {u}
    store %r, @R{t}{u}[%g]
  }}''')
print('  host {\n    steps 1 {' + ''.join(f' launch @{t}_{u}' for t, u in pairs) + ' }\n  }\n}')
