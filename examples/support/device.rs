//! The device's half: semihosting, an instruction counter, stack and section sizes, and the end of a program.

#![allow(unsafe_code)]

use super::Sizes;
use core::{
    arch::asm,
    fmt,
    hint::black_box,
    panic::PanicInfo,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};
use cortex_m::peripheral::{Peripherals, SCB, SYST, syst::SystClkSource};
use cortex_m_rt::{ExceptionFrame, exception};
use cortex_m_semihosting::{debug, heprintln, hprintln};

/// Prints one line; [`say!`](super::say) and [`figure!`](super::figure) call it.
pub fn print_line(line: fmt::Arguments<'_>) {
    hprintln!("{}", line);
}

/// Ends the program in QEMU, with its exit status.
pub fn finish(result: Result<(), impl fmt::Display>) -> ! {
    match result {
        Ok(()) => exit(debug::EXIT_SUCCESS),
        Err(error) => {
            heprintln!("error: {}", error);
            exit(debug::EXIT_FAILURE)
        }
    }
}

fn exit(status: debug::ExitStatus) -> ! {
    debug::exit(status);
    // Reached only if a debugger ignores the request.
    loop {
        cortex_m::asm::nop();
    }
}

// Writes to standard error, since a panic inside `print_line` still holds the handle of standard output.
#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    heprintln!("{}", info);
    exit(debug::EXIT_FAILURE)
}

// Without it a fault is an endless loop, and the test a timeout without a message.
#[exception]
unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
    heprintln!("hard fault: {:?}", frame);
    exit(debug::EXIT_FAILURE)
}

/// The bits of SysTick's counter; [`WRAPS`] counts its wraps.
const COUNTER_BITS: u32 = 24;
const COUNTER_MASK: u32 = (1 << COUNTER_BITS) - 1;

/// The fraction bits of [`PER_TICK`].
const FRACTION_BITS: u32 = 8;

static WRAPS: AtomicU32 = AtomicU32::new(0);

/// The instructions per tick of SysTick. Under `-icount` time is the number of instructions, and the board's clock
/// decides how many make a tick (25 MHz: 40, 16 MHz: 62.5), so it is measured, not assumed.
static PER_TICK: AtomicU32 = AtomicU32::new(0);

// A plain load and store, since ARMv6-M has no other atomics. Nothing else writes here.
#[exception]
fn SysTick() {
    WRAPS.store(WRAPS.load(Relaxed) + 1, Relaxed);
}

/// Starts SysTick and measures its tick with a loop of a known number of instructions.
pub fn start() {
    // Long enough that an error of one tick is lost in the rounding to FRACTION_BITS.
    const ITERATIONS: u32 = 4_000_000;
    let Some(mut peripherals) = Peripherals::take() else {
        panic!("started twice");
    };
    peripherals.SYST.set_clock_source(SystClkSource::Core);
    peripherals.SYST.set_reload(COUNTER_MASK);
    peripherals.SYST.clear_current();
    peripherals.SYST.enable_interrupt();
    peripherals.SYST.enable_counter();

    let before = ticks();
    spin(ITERATIONS);
    let elapsed = ticks() - before;
    assert!(elapsed > 0, "SysTick does not count");
    let scaled = (2 * u64::from(ITERATIONS)) << FRACTION_BITS;
    let per_tick = (scaled + elapsed / 2) / elapsed;
    PER_TICK.store(per_tick as u32, Relaxed);
}

/// Returns the ticks since [`start`].
#[inline(always)]
fn ticks() -> u64 {
    loop {
        let wraps = WRAPS.load(Relaxed);
        let counter = SYST::get_current();
        // A wrap between the two readings, counted or pending, would put the counter in the wrong period.
        if !SCB::is_pendst_pending() && WRAPS.load(Relaxed) == wraps {
            // The counter counts down, and wraps (raises the exception) when it reaches 0, not when it leaves it.
            let since_wrap = counter.wrapping_neg() & COUNTER_MASK;
            return ((wraps as u64) << COUNTER_BITS) | since_wrap as u64;
        }
    }
}

fn to_instructions(ticks: u64) -> u64 {
    (ticks * PER_TICK.load(Relaxed) as u64) >> FRACTION_BITS
}

/// Returns the instructions since the start of the program, to [`resolution`]. Interrupts must be enabled.
pub fn instructions() -> Option<u64> {
    Some(to_instructions(ticks()))
}

/// Runs `work` and counts its instructions. The counting itself adds less than one tick.
pub fn instructions_of<T>(work: impl FnOnce() -> T) -> (T, Option<u64>) {
    // The black boxes keep the compiler from moving work out from between the two readings.
    let before = ticks();
    let value = black_box(black_box(work)());
    let elapsed = ticks() - before;
    (value, Some(to_instructions(elapsed)))
}

/// Returns the instructions per tick, rounded up: the resolution of a count. Repeat short work for a finer one.
pub fn resolution() -> Option<u64> {
    Some((PER_TICK.load(Relaxed) as u64).div_ceil(1 << FRACTION_BITS))
}

/// Executes `2 * iterations` instructions (`iterations` > 0) and one or two around them.
#[inline(never)]
pub fn spin(iterations: u32) {
    // SAFETY: changes one register and the flags, both declared.
    unsafe {
        asm!(
            "2:",
            "subs {n}, {n}, #1",
            "bne 2b",
            n = inout(reg) iterations => _,
            options(nomem, nostack),
        );
    }
}

// Set by cortex-m-rt's linker script. Only their addresses have a meaning.
unsafe extern "C" {
    static __vector_table: u32;
    static __etext: u32;
    static __sidata: u32;
    static __sdata: u32;
    static __edata: u32;
    static __sbss: u32;
    static __euninit: u32;
    static _stack_end: u32;
    static _stack_start: u32;
}

/// The value of an unused word of the stack. Odd and no address, so that no pointer or small number looks like it.
const PAINT: u32 = 0xC5C5_C5C5;

/// Paints the unused part of the stack. [`deepest`] finds how far down the paint was overwritten.
#[inline(never)]
pub fn paint() {
    // Interrupts are off: their frames would be in the painted memory.
    cortex_m::interrupt::free(|_| {
        // SAFETY: writes from the end of the statics up to the stack pointer, memory that no live value uses.
        unsafe {
            asm!(
                "b 3f",
                "2:",
                "stm {at}!, {{{paint}}}",
                "3:",
                "cmp {at}, sp",
                "blo 2b",
                at = inout(reg) &raw const _stack_end => _,
                paint = in(reg) PAINT,
                options(nostack),
            );
        }
    });
}

/// Returns the bytes of stack in use.
pub fn depth() -> Option<usize> {
    Some(&raw const _stack_start as usize - cortex_m::register::msp::read() as usize)
}

/// Returns the bytes of stack used at the deepest point since [`paint`], counted from the top of RAM; `None` if all of
/// it was used.
pub fn deepest() -> Option<usize> {
    let top = &raw const _stack_start as usize;
    let mut at = &raw const _stack_end;
    let bottom = at as usize;
    // SAFETY: reads aligned words of RAM between the statics and the top, as the loop's condition says; volatile, since
    // the compiler knows nothing of their writers.
    while (at as usize) < top && unsafe { at.read_volatile() } == PAINT {
        at = at.wrapping_add(1);
    }
    (at as usize > bottom).then_some(top - at as usize)
}

/// Returns the sizes of the linked program.
pub fn sizes() -> Option<Sizes> {
    let data = &raw const __edata as usize - &raw const __sdata as usize;
    let uninitialised = &raw const __euninit as usize - &raw const __sbss as usize;
    let start = &raw const __vector_table as usize;
    Some(Sizes {
        code: &raw const __etext as usize - start,
        flash: &raw const __sidata as usize + data - start,
        static_ram: data + uninitialised,
    })
}
