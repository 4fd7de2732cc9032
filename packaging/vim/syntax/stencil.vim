" Stencil programs (stc).
if exists("b:current_syntax")
  finish
endif
syntax keyword stencilStatement if then else for in return until every over
syntax keyword stencilDeclaration param const grid region field stencil init op let struct fn var reduce probe inject scalar update repeat absorb mask sweep members levels each loss gradient
syntax keyword stencilModifier on outside where dry self history frames shared linear cycle by along down first next temp input at end up to spacing order side clamp mirror half odd about periodic of but lower upper speed frequency reflection kappa
syntax keyword stencilType u8 u16 u32 real f16 bf16 f32 f64 i8 i16 i32 i64 bool c64 c128 complex
syntax keyword stencilFunction min max abs sqrt rsqrt exp log pow sin cos tan tanh log2 log10 cbrt asin acos atan atan2 sinh cosh erf floor ceil fma copysign select sum prod coord diff lookup within fine coarse conj abs2 arg cis
syntax keyword stencilVariable idx step round member
syntax keyword stencilBoolean true false
syntax match stencilNumber "\<\d\+i\?\>"
syntax match stencilFloat "\<\d\+\(\.\d\+\([eE][-+]\?\d\+\)\?\|[eE][-+]\?\d\+\)i\?"
syntax match stencilDirective "^\s*#.*$"
syntax match stencilComment "//.*$" contains=stencilTodo
syntax region stencilComment start="/\*" end="\*/" contains=stencilTodo
syntax keyword stencilTodo TODO FIXME contained

highlight default link stencilStatement Statement
highlight default link stencilDeclaration Structure
highlight default link stencilModifier StorageClass
highlight default link stencilType Type
highlight default link stencilFunction Function
highlight default link stencilVariable Special
highlight default link stencilBoolean Boolean
highlight default link stencilNumber Number
highlight default link stencilFloat Float
highlight default link stencilDirective PreProc
highlight default link stencilComment Comment
highlight default link stencilTodo Todo
let b:current_syntax = "stencil"
