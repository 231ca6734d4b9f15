//! The common parts of the examples, so that each has one source for a Cortex-M in QEMU and for the host.
//!
//! An example starts with `#![cfg_attr(target_os = "none", no_std, no_main)]`, has `mod support;` and a function `run()
//! -> Result<(), E>` named by [`entry!`]. The output of [`say!`] must be the same on every target and is compared with
//! the file `NAME.out` beside its source. The output of [`figure!`] (lines that start with `# `) differs between
//! targets and is shown, not compared.
//!
//! | | on the device | on the host |
//! |---|---|---|
//! | [`say!`], [`figure!`] | semihosting | standard output |
//! | [`instructions`], [`instructions_of`] | counted by SysTick under `-icount` | `None` |
//! | [`paint`], [`deepest`] | deepest stack since the painting | nothing, `None` |
//! | [`sizes`] | flash and static RAM from the linker | `None` |
//! | `Err` from `run`, a panic, a fault | message, exit status 1 | message, exit status not 0 |

// No example uses all of it.
#![allow(dead_code, unused_imports, unused_macros)]

pub mod cases;
pub mod next_words;

#[cfg(target_os = "none")]
mod device;
#[cfg(target_os = "none")]
pub use device::*;

#[cfg(not(target_os = "none"))]
mod host;
#[cfg(not(target_os = "none"))]
pub use host::*;

/// The sizes of a program, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Machine code with the vector table.
    pub code: usize,
    /// Everything in flash: code, constants (models among them) and the initial values of statics.
    pub flash: usize,
    /// RAM taken by statics; the stack comes on top of it.
    pub static_ram: usize,
}

/// Prints a line that is the same on every target.
macro_rules! say {
    ($($arguments:tt)*) => { $crate::support::print_line(format_args!($($arguments)*)) };
}
pub(crate) use say;

/// Prints a line that differs between targets: a count, a size, a time.
macro_rules! figure {
    ($($arguments:tt)*) => { $crate::support::print_line(format_args!("# {}", format_args!($($arguments)*))) };
}
pub(crate) use figure;

/// Marks the start of the region of this number for the plugin of `ci/cycles`, or with 0 its end. Does nothing on a
/// part.
macro_rules! mark {
    ($region:literal) => {
        // SAFETY: a hint to a debugger, which changes neither registers nor memory. ARMv6-M does not have it.
        #[cfg(all(target_arch = "arm", target_os = "none", target_has_atomic = "32"))]
        #[allow(unsafe_code)]
        unsafe {
            core::arch::asm!(concat!("dbg #", $region), options(nostack, preserves_flags))
        }
    };
}
pub(crate) use mark;

/// Makes `$run`, a `fn() -> Result<(), impl Display>`, the program.
#[cfg(target_os = "none")]
macro_rules! entry {
    ($run:path) => {
        #[cortex_m_rt::entry]
        fn main() -> ! {
            $crate::support::start();
            $crate::support::finish($run())
        }
    };
}
#[cfg(not(target_os = "none"))]
macro_rules! entry {
    ($run:path) => {
        fn main() -> std::process::ExitCode {
            $crate::support::finish($run())
        }
    };
}
pub(crate) use entry;
