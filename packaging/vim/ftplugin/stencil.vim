" Stencil programs (stc): comments, and `gq` by stc fmt.
if exists("b:did_ftplugin")
  finish
endif
let b:did_ftplugin = 1
setlocal commentstring=//\ %s comments=s1:/*,mb:*,ex:*/,://
setlocal expandtab shiftwidth=2 softtabstop=2
setlocal formatprg=stc\ fmt\ -
let b:undo_ftplugin = "setlocal commentstring< comments< expandtab< shiftwidth< softtabstop< formatprg<"
