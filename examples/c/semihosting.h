/* Printing to, and ending, QEMU or a debugger. An own board has a UART or RTT in its place. */
#ifndef SEMIHOSTING_H
#define SEMIHOSTING_H

/* As printf, with %u, %x (eight digits) and %s only, and no more than 127 characters at a time. */
void print(const char *format, ...);

/* Ends the program; QEMU exits with this status. */
_Noreturn void leave(int status);

#endif
