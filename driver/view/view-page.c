/* driver/view/view-page.c: the page's own files, page/view.html and those that it loads, as a part of this program. */
#include "driver/view/view-serve.h"

/* Embeds the file FILE between the symbols NAME and NAME_end. */
#define EMBED(NAME, FILE) \
  __asm__(".section .rodata\n.balign 16\n.global " #NAME "\n.hidden " #NAME "\n" #NAME ":\n.incbin \"" FILE \
          "\"\n.global " #NAME "_end\n.hidden " #NAME "_end\n" #NAME "_end:\n.byte 0\n.previous\n"); \
  extern const char NAME[], NAME##_end[];

EMBED(stc_view_html, STC_SOURCE_DIR "/driver/view/page/view.html")
EMBED(stc_view_css, STC_SOURCE_DIR "/driver/view/page/view.css")
EMBED(stc_view_js, STC_SOURCE_DIR "/driver/view/page/view.js")
EMBED(stc_view_draw, STC_SOURCE_DIR "/driver/view/page/draw.js")

const PageFile page_files[] = {
    {"", "text/html; charset=utf-8", stc_view_html, stc_view_html_end},
    {"view.css", "text/css; charset=utf-8", stc_view_css, stc_view_css_end},
    {"view.js", "text/javascript; charset=utf-8", stc_view_js, stc_view_js_end},
    {"draw.js", "text/javascript; charset=utf-8", stc_view_draw, stc_view_draw_end},
};
const int npage_files = sizeof page_files / sizeof page_files[0];
