#include "semihosting.h"

#include <stdarg.h>
#include <stdint.h>

enum { SYS_OPEN = 0x01, SYS_WRITE = 0x05, SYS_EXIT_EXTENDED = 0x20, APPLICATION_EXIT = 0x20026 };

static uint32_t call(uint32_t operation, const void *argument) {
  register uint32_t r0 __asm__("r0") = operation;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

/* To standard output, which is the console (":tt") opened for writing. */
static void write(const char *text, uint32_t length) {
  static uint32_t handle;
  if (handle == 0) {
    static const char console[] = ":tt";
    const uint32_t block[3] = {(uint32_t)console, 4, sizeof console - 1};
    handle = call(SYS_OPEN, block);
  }
  const uint32_t block[3] = {handle, (uint32_t)text, length};
  call(SYS_WRITE, block);
}

static char *digits(char *at, uint32_t number, uint32_t base, int least) {
  char reversed[10];
  int count = 0;
  do {
    reversed[count++] = "0123456789abcdef"[number % base];
    number /= base;
  } while (number != 0 || count < least);
  while (count > 0) *at++ = reversed[--count];
  return at;
}

void print(const char *format, ...) {
  char line[128], *at = line;
  va_list arguments;
  va_start(arguments, format);
  for (; *format != '\0'; format++) {
    /* No number is longer than ten digits. */
    if (at > line + sizeof line - 11) break;
    if (*format != '%') {
      *at++ = *format;
    } else if (*++format == 's') {
      for (const char *text = va_arg(arguments, const char *); *text != '\0' && at < line + 100; text++) *at++ = *text;
    } else if (*format == 'x') {
      at = digits(at, va_arg(arguments, uint32_t), 16, 8);
    } else {
      at = digits(at, va_arg(arguments, uint32_t), 10, 1);
    }
  }
  va_end(arguments);
  write(line, (uint32_t)(at - line));
}

_Noreturn void leave(int status) {
  const uint32_t block[2] = {APPLICATION_EXIT, (uint32_t)status};
  call(SYS_EXIT_EXTENDED, block);
  for (;;) {
  }
}
