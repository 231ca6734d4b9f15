/* Prices every executed instruction in cycles of a Cortex-M4F: a QEMU TCG plugin (plugin API 1: QEMU 4.2 to 8.2).
 *
 * A measured program marks regions by the hint DBG #n (region n begins, n = 1 to 15) and DBG #0 (it ends), which do nothing on
 * a part. At exit the plugin writes to the file out=FILE, as JSON lines:
 *   {"region":1,"calls":..,"instructions":..,"cycles":..,"least":..,"most":..,"f4":..,"words":..,"lines":..}   sums over all calls
 *   {"region":1,"pc":..,"count":..,"cycles":..,"f4":..}                                one for each executed instruction
 *
 * WHERE THE TIMINGS ARE FROM
 *   [M4]  ARM DDI 0439, Cortex-M4 Technical Reference Manual, 3.3.1 "Cortex-M4 instructions" (table of cycles), 3.3.2 "Load/store
 *         timings", 7.2.3 "FPU instruction set" (table of cycles). Cited from memory of the document, except where [LS] says it.
 *   [LS]  The rules of loads and stores as TI prints them for its Cortex-M4F: SWCU185, "Load/Store Timings"; the same words are in
 *         ARM DDI 0337I (Cortex-M3), 3.3.2. Compared with that text.
 *   [ART] ST RM0090 (STM32F405), 3.5 "Adaptive real-time memory accelerator": 128-bit lines, 64 of instructions and 8 of data,
 *         prefetch of the next line. From memory; 5 wait states are those of 168 MHz at 3.3 V.
 *   [NRF] Nordic's product specification of the nRF52 says 2 wait states of flash at 64 MHz without its instruction cache. That code
 *         always hits, and data is not cached, is an assumption. From memory.
 *   What is assumed, not documented, has "assumed" beside it.
 * No part was measured. There is no bus contention, no DMA and no interrupt in it; code and constants are in flash, data in RAM
 * without wait states.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The few functions of qemu-plugin.h (QEMU's include/qemu/qemu-plugin.h, API 1), which Debian does not package. */
typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
typedef struct qemu_info_t qemu_info_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { QEMU_PLUGIN_CB_NO_REGS = 0, QEMU_PLUGIN_MEM_RW = 3 };
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, void (*)(unsigned, void *), int, void *);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *, void (*)(unsigned, qemu_plugin_meminfo_t, uint64_t, void *),
                                      int, int, void *);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, void *), void *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t);
__attribute__((visibility("default"))) int qemu_plugin_version = 1;

/* --- Timings ------------------------------------------------------------------------------------------------------------ */

enum {
    REFILL = 2,         /* [M4] P, "between 1 and 3"; assumed: 2 */
    REFILL_BY_LOAD = 3, /* [LS] of LDR PC, of POP and LDM with PC, and of TBB and TBH */
    MULTIPLY_ADD = 2,   /* [M4] MLA, MLS; all other multiplications, SIMD and long ones too, take 1 */
    DIVIDE = 7,         /* [M4] SDIV, UDIV: 2 to 12 by the operands; assumed: in the middle */
    FLOAT_DIVIDE = 14,  /* [M4] VDIV, VSQRT */
    FLOAT_MAC = 3,      /* [M4] VMLA, VFMA and the like */
    ADDRESS_WAIT = 1,   /* [LS] a load or store whose address a data processing instruction just made */
    FLOAT_WAIT = 1,     /* [M4] a float result that the next instruction takes */
    F4_WAIT = 5,        /* [ART] */
    LINE_BITS = 4,      /* [ART] 16 bytes */
    F4_CODE_LINES = 64,
    F4_DATA_LINES = 8,
};
static const uint32_t FLASH_END = 0x00400000; /* mps2-an386: code and constants are below */

/* --- What an instruction is --------------------------------------------------------------------------------------------- */

enum kind { OTHER, LOAD, STORE, STORE_BY_REGISTER, MANY, IT, MARK };
enum { REGIONS = 16 };

typedef struct {
    uint64_t count, cycles, f4, words, lines;
} Sums;

typedef struct {
    uint32_t pc;
    uint8_t size, kind, cycles, mark;
    bool memory;      /* reads or writes memory */
    bool loads_pc;
    uint16_t makes;   /* registers that it computes: bit masks */
    uint16_t loads;   /* the register of a single load */
    uint16_t address; /* registers that its address is made of */
    int8_t float_makes, float_takes[2]; /* single-precision registers, -1 for none */
    Sums *sums[REGIONS];
} Insn;

static uint32_t bits(uint32_t x, int high, int low) { return x >> low & ((1u << (high - low + 1)) - 1); }
static uint16_t reg(unsigned n) { return (uint16_t)(1u << n); }
static uint16_t result(unsigned n) { return n == 15 ? 0 : reg(n); }

static void memory(Insn *i, enum kind kind, int cycles, uint16_t address) {
    i->memory = true;
    i->kind = kind;
    i->cycles = (uint8_t)cycles;
    i->address = address;
}

/* Branches keep what every instruction begins with: one cycle, and REFILL where they are taken. */
static void decode16(Insn *i, uint32_t h) {
    unsigned low = bits(h, 2, 0), base = bits(h, 5, 3), index = bits(h, 8, 6), high = bits(h, 10, 8);
    switch (h >> 11) {
    case 0: case 1: case 2: case 3: i->makes = reg(low); break; /* shifts, ADD, SUB */
    case 4: case 6: case 7: i->makes = reg(high); break;        /* MOV, ADD, SUB of a byte */
    case 8:
        if (!(h & 0x400)) { /* two registers; TST, CMP and CMN make none */
            unsigned op = bits(h, 9, 6);
            if (op != 8 && op != 10 && op != 11) i->makes = reg(low);
        } else if (bits(h, 9, 8) == 0 || bits(h, 9, 8) == 2) { /* ADD, MOV of high registers */
            i->makes = result(low | bits(h, 7, 7) << 3);
        }
        break;
    case 9: memory(i, LOAD, 2, 0), i->loads = reg(high); break; /* from behind the code */
    case 10: case 11: /* an address of two registers */
        if (bits(h, 11, 9) <= 2) memory(i, STORE_BY_REGISTER, 2, reg(base) | reg(index));
        else memory(i, LOAD, 2, reg(base) | reg(index)), i->loads = reg(low);
        break;
    case 12: case 14: case 16: memory(i, STORE, 1, reg(base)); break; /* [LS] always one cycle */
    case 13: case 15: case 17: memory(i, LOAD, 2, reg(base)), i->loads = reg(low); break;
    case 18: memory(i, STORE, 1, reg(13)); break;
    case 19: memory(i, LOAD, 2, reg(13)), i->loads = reg(high); break;
    case 20: case 21: i->makes = reg(high); break; /* ADR, ADD of SP */
    case 22: case 23:
        switch (bits(h, 11, 8)) {
        case 0: i->makes = reg(13); break;
        case 2: case 10: i->makes = reg(low); break; /* SXTB and the like, REV */
        case 4: case 5: case 12: case 13:            /* PUSH, POP: [M4] 1 + n */
            memory(i, MANY, 1 + __builtin_popcount(h & 0x1ff), reg(13));
            i->loads_pc = (h & 0x900) == 0x900;
            break;
        case 15: if (h & 15) i->kind = IT; break;
        }
        break;
    case 24: case 25: memory(i, MANY, 1 + __builtin_popcount(h & 0xff), reg(high)); break;
    }
}

static void decode_float(Insn *i, uint32_t h1, uint32_t h2) {
    unsigned d = bits(h2, 15, 12) << 1 | bits(h1, 6, 6), n = bits(h1, 3, 0) << 1 | bits(h2, 7, 7),
             m = bits(h2, 3, 0) << 1 | bits(h2, 5, 5);
    if (bits(h1, 15, 8) == 0xee) {
        if (h2 & 0x10) { /* VMOV between the register files, VMRS */
            if (bits(h1, 4, 4) && !bits(h1, 7, 5)) i->float_takes[0] = (int8_t)n;
            return;
        }
        i->float_makes = (int8_t)d, i->float_takes[0] = (int8_t)n, i->float_takes[1] = (int8_t)m;
        switch (bits(h1, 7, 7) << 2 | bits(h1, 5, 4)) {
        case 0: case 1: case 5: case 6: i->cycles = FLOAT_MAC; break;
        case 4: i->cycles = FLOAT_DIVIDE; break;
        case 7:
            i->float_takes[0] = -1;
            if (bits(h1, 3, 0) == 1 && bits(h2, 7, 6) == 3) i->cycles = FLOAT_DIVIDE;                      /* VSQRT */
            if (!(h2 & 0x40)) i->float_makes = i->float_takes[1] = -1;                                     /* VMOV #x */
            if (bits(h1, 3, 1) == 2) i->float_takes[0] = (int8_t)d, i->float_makes = -1;                   /* VCMP */
            break;
        }
    } else if (bits(h1, 15, 5) == 0xec40 >> 5) { /* VMOV of two */
        i->cycles = 2, i->float_takes[1] = (int8_t)m;
    } else { /* VLDR, VSTR: [M4] 2, of doubles 3; VLDM, VSTM: 1 + n */
        bool single = bits(h1, 8, 8) && !bits(h1, 5, 5);
        memory(i, MANY, single ? (h2 & 0x100 ? 3 : 2) : (int)(1 + (h2 & 0xff)), reg(bits(h1, 3, 0)));
        if (!bits(h1, 4, 4)) i->float_takes[1] = (int8_t)d;
    }
}

static void decode32(Insn *i, uint32_t h1, uint32_t h2) {
    unsigned n = bits(h1, 3, 0), t = bits(h2, 15, 12), d = bits(h2, 11, 8), m = bits(h2, 3, 0), op = bits(h1, 6, 4);
    if (h1 == 0xf3af && (h2 & 0xfff0) == 0x80f0) {
        i->kind = MARK, i->mark = h2 & 15;
        return;
    }
    if ((h1 & 0xec00) == 0xec00) {
        decode_float(i, h1, h2);
        return;
    }
    switch (h1 >> 9) {
    case 0x74:
        if (!(h1 & 0x40)) { /* LDM, STM, also POP and PUSH: [M4] 1 + n */
            memory(i, MANY, 1 + __builtin_popcount(h2), reg(n));
            i->loads_pc = (h1 & 0x10) && (h2 & 0x8000);
        } else if ((h1 & 0xfff0) == 0xe8d0 && (h2 & 0xffe0) == 0xf000) { /* TBB, TBH: [LS] 3, and the refill */
            memory(i, MANY, 3, reg(n) | reg(m)), i->loads_pc = true;
        } else if ((h1 & 0xff60) == 0xe840) { /* exclusive ones: [LS] as LDR */
            memory(i, LOAD, 2, reg(n)), i->loads = reg(t);
        } else { /* LDRD, STRD: [LS] 3, not pipelined */
            memory(i, MANY, 3, reg(n));
        }
        break;
    case 0x78: case 0x79: case 0x7a: case 0x7b: /* immediates, unless it is a branch */
        if (h2 & 0x8000) break;
        /* fall through */
    case 0x75: i->makes = result(d); break;
    case 0x7c: {
        bool by_register = !(h1 & 0x80) && !(h2 & 0x800) && n != 15;
        uint16_t address = (uint16_t)((n == 15 ? 0 : reg(n)) | (by_register ? reg(m) : 0));
        if (!(h1 & 0x10)) {
            memory(i, by_register ? STORE_BY_REGISTER : STORE, by_register ? 2 : 1, address);
        } else {
            memory(i, LOAD, 2, address);
            if (t == 15) i->loads_pc = (h1 & 0x60) == 0x40;
            else i->loads = reg(t);
        }
        break;
    }
    case 0x7d:
        i->makes = result(d);
        if (bits(h1, 8, 7) == 2 && op == 0 && t != 15) i->cycles = MULTIPLY_ADD;
        else if (bits(h1, 8, 7) == 3) {
            if (op == 1 || op == 3) i->cycles = DIVIDE;
            else i->makes |= reg(t);
        }
        break;
    }
}

/* --- Flash like that of an STM32F405: [ART] ----------------------------------------------------------------------------- */

typedef struct {
    uint32_t line[64];
    uint64_t used[64];
    int lines;
} Cache;
static Cache code_cache = {.lines = F4_CODE_LINES}, data_cache = {.lines = F4_DATA_LINES};
static uint64_t clock_of_caches;

/* Whether a line is there; if not and `fill`, it comes in place of the one that was used least recently. */
static bool has(Cache *cache, uint32_t line, bool fill) {
    int oldest = 0;
    for (int k = 0; k < cache->lines; k++) {
        if (cache->line[k] == line) {
            cache->used[k] = ++clock_of_caches;
            return true;
        }
        if (cache->used[k] < cache->used[oldest]) oldest = k;
    }
    if (fill) cache->line[oldest] = line, cache->used[oldest] = ++clock_of_caches;
    return false;
}

static uint64_t now, prefetched_at;
static uint32_t line_fetched = ~0u, line_prefetched = ~0u, line_read = ~0u;

/* Cycles that the core waits for a line of code. A line is kept where the core waited for it; assumed: also if a prefetch was
 * on its way. */
static unsigned fetch(uint32_t line) {
    if (line == line_fetched) return 0;
    line_fetched = line;
    unsigned wait = 0;
    if (line == line_prefetched) {
        if (prefetched_at > now) {
            wait = (unsigned)(prefetched_at - now);
            has(&code_cache, line, true);
        }
    } else if (!has(&code_cache, line, true)) {
        wait = F4_WAIT;
    }
    if (!has(&code_cache, line + 1, false)) line_prefetched = line + 1, prefetched_at = now + wait + F4_WAIT + 1;
    return wait;
}

/* --- Execution ---------------------------------------------------------------------------------------------------------- */

/* An instruction is priced when the next one is known: that says whether it branched. */
static Insn *open_insn, *before; /* the one to be priced, and the one in front of it, both within a region */
static struct {
    unsigned accesses, unaligned, f4, words, lines;
} open_access;
static int region;
static Sums of_call, total[REGIONS];
static uint64_t calls[REGIONS], least[REGIONS], most[REGIONS];
static FILE *each; /* where every call is written to, if at all */

static unsigned price(const Insn *i, bool taken) {
    unsigned cycles = i->cycles;
    if (i->memory && !open_access.accesses) {
        cycles = 1; /* its condition failed */
    } else {
        bool behind_load = before && before->kind == LOAD && !before->loads_pc;
        /* [LS] A single load or store behind a load overlaps with it, unless it takes its address from it. */
        if ((i->kind == LOAD || i->kind == STORE_BY_REGISTER) && behind_load && !(before->loads & i->address)) cycles--;
        /* [M4] IT is folded into a 16-bit instruction before it. */
        if (i->kind == IT && before && before->size == 2) cycles = 0;
        if (i->memory && before && (before->makes & i->address)) cycles += ADDRESS_WAIT;
        if (before && before->float_makes >= 0 &&
            (before->float_makes == i->float_takes[0] || before->float_makes == i->float_takes[1]))
            cycles += FLOAT_WAIT;
        cycles += open_access.unaligned;
    }
    if (taken) cycles += i->loads_pc ? REFILL_BY_LOAD : REFILL;
    return cycles;
}

static void add(Sums *to, const Sums *what) {
    to->count += what->count, to->cycles += what->cycles, to->f4 += what->f4;
    to->words += what->words, to->lines += what->lines;
}

static void settle(const Insn *next) {
    Insn *i = open_insn;
    Sums cost = {1, price(i, next->pc != i->pc + i->size), open_access.f4, open_access.words, open_access.lines};
    now += cost.cycles + cost.f4;
    if (!i->sums[region] && !(i->sums[region] = calloc(1, sizeof(Sums)))) abort();
    add(i->sums[region], &cost);
    add(&of_call, &cost);
}

static void on_mark(int mark) {
    if (mark) {
        calls[mark]++;
    } else if (region) {
        add(&total[region], &of_call);
        if (calls[region] == 1 || of_call.cycles < least[region]) least[region] = of_call.cycles;
        if (of_call.cycles > most[region]) most[region] = of_call.cycles;
        if (each) fprintf(each, "%d %lu %lu %lu\n", region, of_call.count, of_call.cycles, of_call.f4);
    }
    memset(&of_call, 0, sizeof of_call);
    region = mark;
}

static void on_execution(unsigned cpu, void *data) {
    (void)cpu;
    Insn *i = data;
    if (open_insn) settle(i);
    if (i->kind == MARK) {
        on_mark(i->mark);
        open_insn = before = NULL;
        return;
    }
    if (!region) return;
    before = open_insn;
    open_insn = i;
    memset(&open_access, 0, sizeof open_access);
    open_access.f4 = fetch(i->pc >> LINE_BITS);
    if (i->size == 4) open_access.f4 += fetch((i->pc + 2) >> LINE_BITS);
}

static void on_access(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data) {
    (void)cpu, (void)data;
    if (!region) return;
    open_access.accesses++;
    unsigned shift = qemu_plugin_mem_size_shift(info);
    if (shift == 2 && (address & 3)) open_access.unaligned += address & 1 ? 2 : 1; /* [LS] */
    if (shift == 1 && (address & 1)) open_access.unaligned += 1;
    if (address < FLASH_END && !qemu_plugin_mem_is_store(info)) {
        uint32_t line = (uint32_t)(address >> LINE_BITS);
        open_access.words++;
        open_access.lines += line != line_read;
        line_read = line;
        if (!has(&data_cache, line, true)) {
            open_access.f4 += F4_WAIT;
            prefetched_at += F4_WAIT; /* assumed: the read comes first */
        }
    }
}

static Insn **table; /* by half of the address */

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *block) {
    (void)id;
    for (size_t k = 0; k < qemu_plugin_tb_n_insns(block); k++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(block, k);
        uint64_t pc = qemu_plugin_insn_vaddr(insn);
        if (pc >= FLASH_END) continue; /* nothing that is measured runs from RAM */
        Insn *i = table[pc >> 1];
        if (!i) {
            const uint8_t *code = qemu_plugin_insn_data(insn);
            if (!(i = table[pc >> 1] = calloc(1, sizeof *i))) abort();
            i->pc = (uint32_t)pc, i->size = (uint8_t)qemu_plugin_insn_size(insn), i->cycles = 1;
            i->float_makes = i->float_takes[0] = i->float_takes[1] = -1;
            uint32_t h1 = code[0] | (uint32_t)code[1] << 8;
            if (i->size == 2) decode16(i, h1);
            else decode32(i, h1, code[2] | (uint32_t)code[3] << 8);
        }
        qemu_plugin_register_vcpu_insn_exec_cb(insn, on_execution, QEMU_PLUGIN_CB_NO_REGS, i);
        if (i->memory) qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, i);
    }
}

static const char *out_name;

static void on_end(qemu_plugin_id_t id, void *data) {
    (void)id, (void)data;
    FILE *out = fopen(out_name, "w");
    if (!out) {
        perror(out_name);
        return;
    }
    for (int r = 1; r < REGIONS; r++) {
        if (!calls[r]) continue;
        Sums *t = &total[r];
        fprintf(out, "{\"region\":%d,\"calls\":%lu,\"instructions\":%lu,\"cycles\":%lu,\"least\":%lu,\"most\":%lu,\"f4\":%lu,"
                "\"words\":%lu,\"lines\":%lu}\n", r, calls[r], t->count, t->cycles, least[r], most[r], t->f4, t->words, t->lines);
        for (uint32_t k = 0; k < FLASH_END / 2; k++) {
            Sums *c = table[k] ? table[k]->sums[r] : NULL;
            if (c) fprintf(out, "{\"region\":%d,\"pc\":%u,\"count\":%lu,\"cycles\":%lu,\"f4\":%lu}\n", r, 2 * k, c->count,
                           c->cycles, c->f4);
        }
    }
    fclose(out);
    if (each) fclose(each);
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
                                                               char **argv) {
    (void)info;
    if (argc == 2 && !strncmp(argv[1], "each=", 5) && !(each = fopen(argv[1] + 5, "w"))) return 1;
    if (argc < 1 || strncmp(argv[0], "out=", 4) || !(table = calloc(FLASH_END / 2, sizeof *table))) return 1;
    out_name = strdup(argv[0] + 4);
    memset(code_cache.line, 0xff, sizeof code_cache.line);
    memset(data_cache.line, 0xff, sizeof data_cache.line);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_atexit_cb(id, on_end, NULL);
    return 0;
}
