@ Regions whose cycles were counted by hand from the documents that cycles.c names. `./ci.sh cycles` compares what the plugin says
@ with the numbers behind "@=": cycles, words read from flash, and changes of a line of 16 bytes.
    .syntax unified
    .cpu cortex-m4
    .fpu fpv4-sp-d16
    .thumb
    .word 0x20001000            @ stack
    .word start + 1
    .balign 16
constants:
    .word 1, 2, 3, 4, 5, 6, 7, 8
    .thumb_func
start:
    ldr r0, =0xe000ed88         @ CPACR: the FPU on
    mov r1, #0xf << 20
    str r1, [r0]
    dsb
    isb
    ldr r0, =constants
    ldr r1, =0x20000100
    ldr r2, =constants
    movs r3, #4

    dbg #1                      @= 1: 4 3 2      loads overlap: 2 + 1 + 1
    ldr r4, [r0]
    ldr r5, [r0, #4]
    ldr r6, [r0, #16]
    dbg #0
    str r0, [r1]
    dbg #2                      @= 2: 4 1 1      the second takes its address from the first: 2 + 2
    ldr r4, [r1]
    ldr r5, [r4]
    dbg #0
    mov r6, r1
    dbg #3                      @= 3: 4 0 0      an address that was just made: 1 + 2 + 1
    adds r6, r6, #4
    ldr r5, [r6]
    dbg #0
    dbg #4                      @= 4: 5 0 0      load, store behind it, store by immediate: 2 + 1 + 1, and 1
    ldr r5, [r1]
    str r5, [r1, r3]
    str r5, [r1]
    str r5, [r1, #4]
    dbg #0
    dbg #5                      @= 5: 11 0 0     1, two rounds of 1 + 1 + 2, one of 1 + 1
    movs r4, #3
1:  subs r4, r4, #1
    bne 1b
    dbg #0
    dbg #6                      @= 6: 8 0 0      LDM of four: 1 + 4; LDRD: 3
    ldm r1, {r4, r5, r6, r7}
    ldrd r4, r5, [r1]
    dbg #0
    dbg #7                      @= 7: 11 0 0     1 + 2 + 1 + 7
    mul r4, r3, r3
    mla r4, r3, r3, r4
    smlad r5, r3, r3, r4
    udiv r6, r1, r3
    dbg #0
    dbg #8                      @= 8: 12 0 0     BL: 1 + 2; PUSH of two: 3; POP with PC: 3 + 3
    bl pushes
    dbg #0
    dbg #9                      @= 9: 6 0 0      1 + 2 and 1 + 2
    bl returns
    dbg #0
    vmov s1, r3
    dbg #10                     @= 10: 19 0 0    1, 1 that waits for it, 14, 1 that waits for it
    vmul.f32 s0, s1, s1
    vadd.f32 s2, s0, s1
    vdiv.f32 s3, s1, s1
    vadd.f32 s4, s3, s1
    dbg #0
    dbg #11                     @= 11: 3 0 0     IT is folded, a load that is left out takes one: 1 + 0 + 1 + 1
    cmp r3, r3
    itt ne
    ldrne r4, [r1]
    ldrne r4, [r1]
    dbg #0
    dbg #12                     @= 12: 5 0 0     loads off a word: 2 + 1, and 1 + 1 of half a word
    ldr r4, [r1, #2]
    ldrh r5, [r1, #1]
    dbg #0
    mov r8, r1
    dbg #13                     @= 13: 8 0 0     no overlap behind LDRD, nor of an LDM: 3 + 2 + 3
    ldrd r4, r5, [r1]
    ldr r6, [r1]
    ldm r8, {r7, r12}
    dbg #0
    dbg #14                     @= 14: 15 5 1    four columns of three rows: 2 + 4 and 9
    ldr r4, [r0]
    ldr r5, [r0, #4]
    ldr r6, [r0, #8]
    ldr r7, [r0, #12]
    ldr r9, [r0, #16]
    smlad r10, r6, r4, r10
    and r6, r1, r6, lsl #8
    smlad r10, r6, r5, r10
    smlad r11, r7, r4, r11
    and r7, r1, r7, lsl #8
    smlad r11, r7, r5, r11
    smlad r12, r9, r4, r12
    and r9, r1, r9, lsl #8
    smlad r12, r9, r5, r12
    dbg #0
    movs r4, #0
    dbg #15                     @= 15: 6 1 1     TBB: 3 + 3, one word of the table
    tbb [pc, r4]
    .byte 1, 1
2:  dbg #0

    movs r0, #0x18              @ semihosting: the end
    ldr r1, =0x20026
    bkpt #0xab
    .thumb_func
pushes:
    push {r4, lr}
    pop {r4, pc}
    .thumb_func
returns:
    bx lr
    .ltorg
