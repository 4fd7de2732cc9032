# ops.py KIND FAST: kernel IR with a kernel for every op on every type; KIND simt or host, FAST fast or exact.
import os,sys
sys.path.insert(0,os.path.join(os.path.dirname(os.path.abspath(__file__)),'..','..'))
from optable import arithmetic
types=['bool','u8','u16','u32','i8','i16','i32','i64','f16','bf16','f32','f64']
num=types[1:]; flt=types[8:]
ops=[]
for t in num:
    ops+=[(o,[t]*n,t) for o,n in arithmetic('NUMBERS')]+[(o,[t]*n,'bool') for o,n in arithmetic('ALIKE',True)+arithmetic('NUMBERS',True)]
for t in num[:-len(flt)]: ops+=[(o,[t]*n,t) for o,n in arithmetic('INTEGERS')]
for t in flt:
    ops+=[(o,[t]*n,t) for o,n in arithmetic('FLOATS')]
for a in types:
    for b in types: ops.append(('convert',[a],b))
    ops.append(('select',['bool',a,a],a))
ops+=[(o,['bool']*n,'bool') for o,n in arithmetic('ALIKE',True)+arithmetic('BOOLS',True)]
def gen(simt, fast):
    o='kernel module "ops" {\n'+('  contract\n  fast_math\n' if fast else '')+'  param @N : i64 = { %n = const 1000 : i64 yield %n }\n  grid [0 .. N - 1] steps 1\n'
    bufs=[]
    for t in types:
        for c in 'ABC': o+=f'  field @{c}{t} : {t} on [0 .. N - 1] input\n'; bufs.append(c+t)
        o+=f'  field @R{t} : {t} on [0 .. N - 1]\n'; bufs.append('R'+t)
    for b in bufs: o+=f'  buffer @{b} : @{b} copy 0\n'
    for i,(op,ins,out) in enumerate(ops):
        rd=sorted({c+t for c,t in zip('ABC',ins)}, key=bufs.index)
        o+=f'  kernel @k{i}_{op.replace(".","_")}_{out} threads [{64 if simt else 1}] covers [N] by [64] steps 1 {{\n    args ('
        a=[(bufs.index(b),'reads @'+b) for b in rd]+[(bufs.index('R'+out),'writes @R'+out)]
        o+=', '.join(x for _,x in sorted(a))+', scalar @N)\n'
        o+='    %t = thread 0 : i32\n    %w = convert %t : i64\n    %b = block 0 : i64\n    %s = const 64 : i64\n    %m = mul %b, %s : i64\n    %g = add %m, %w : i64\n    %in = inside %g in [0 .. N - 1] : bool\n    if %in {\n'
        for c,t in zip('ABC',ins): o+=f'      %{c} = load @{c}{t}[%g] : {t}\n'
        o+=f'      %r = {op} '+', '.join('%'+c for c,_ in zip('ABC',ins))+f' : {out}\n      store %r, @R{out}[%g]\n    }} else {{\n    }}\n  }}\n'
    o+='  host {\n    init {\n    }\n    steps 1 {\n      launch @k0_%s_%s\n    }\n  }\n}\n'%(ops[0][0],ops[0][2])
    return o
print(gen(sys.argv[1]=='simt', sys.argv[2]=='fast'),end='')
