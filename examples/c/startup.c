/* From reset to main: the vectors, the FPU, initialised and zeroed memory. A vendor's project has its own. */

#include <stdint.h>

#include "semihosting.h"

int main(void);

extern uint32_t data_start[], data_end[], data_load[], bss_start[], bss_end[], stack_top[];

static void fault(void) {
  print("fault\n");
  leave(1);
}

void reset(void) {
  /* Full access to the FPU, before anything that might use it. */
  volatile uint32_t *cpacr = (volatile uint32_t *)0xE000ED88;
  *cpacr |= 0xFu << 20;
  __asm__ volatile("dsb\n isb" ::: "memory");
  for (uint32_t *to = data_start, *from = data_load; to < data_end;) *to++ = *from++;
  for (uint32_t *to = bss_start; to < bss_end;) *to++ = 0;
  leave(main());
}

typedef void (*vector)(void);

__attribute__((section(".vectors"), used)) static const struct {
  uint32_t *stack;
  vector vectors[6];
} table = {stack_top, {reset, fault, fault, fault, fault, fault}};
