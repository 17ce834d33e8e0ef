#include "client/plot/carried_font.h"

// The linker's names of the file's first byte, and of the one behind its last.
asm(".section .rodata\n"
    ".balign 16\n"
    ".hidden trainctl_font_begin\n"
    ".hidden trainctl_font_end\n"
    ".globl trainctl_font_begin\n"
    ".globl trainctl_font_end\n"
    "trainctl_font_begin:\n"
    ".incbin \"" TRAINCTL_FONT
    "\"\n"
    "trainctl_font_end:\n"
    ".byte 0\n"
    ".previous\n");
extern "C" const uint8_t trainctl_font_begin[], trainctl_font_end[];

namespace trainctl::client::drawn {

std::span<const uint8_t> CarriedFont() { return {trainctl_font_begin, trainctl_font_end}; }

}  // namespace trainctl::client::drawn
