autocmd BufRead,BufNewFile *.stn setfiletype stencil
