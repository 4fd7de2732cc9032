/* backend/libclc-embedded.c: libclc's bitcode as part of this program, for builds that need no files beside them
 * (STC_LIBCLC_EMBEDDED). Symbols: stc_libclc_nvptx .. stc_libclc_nvptx_end and stc_libclc_amdgpu ..
 * stc_libclc_amdgpu_end. */
#ifdef STC_LIBCLC_EMBEDDED
/* The file FILE between the symbols NAME and NAME_end. */
#define EMBED(NAME, FILE) \
  __asm__(".section .rodata\n.balign 16\n.global " #NAME "\n.hidden " #NAME "\n" #NAME ":\n.incbin \"" FILE \
          "\"\n.global " #NAME "_end\n.hidden " #NAME "_end\n" #NAME "_end:\n.byte 0\n.previous\n");

EMBED(stc_libclc_nvptx, STC_LIBCLC_DIR "/nvptx64--.bc")
EMBED(stc_libclc_amdgpu, STC_LIBCLC_DIR "/amdgcn-amd-amdhsa.bc")
#else
typedef int stc_libclc_is_not_embedded;
#endif
