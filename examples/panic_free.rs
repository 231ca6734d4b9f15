//! A firmware that cannot panic: it links only if no way to a panic is left in what it calls.
//!
//! The panic handler calls a function that exists nowhere. The linker throws away what nothing reaches, so the handler
//! is gone, and the program links, as long as the optimised library has no index that could be out of range, no slice
//! of another length, no division by zero. It opens a model, asks Exact and the default classifier, and draws a class;
//! it prints through no formatter, since `core::fmt` could panic itself.
#![cfg_attr(target_os = "none", no_std, no_main)]

use rand_pcg::Pcg32;
use zhat::{Classifier, Error, Model, QueryBuffer, Scratch, include_model, seen_words};

static MODEL: &[u8] = include_model!("../tests/data/maclaurin.zhat");
static QUERY: [f32; 12] = [0.5, -1.0, 0.75, 0.25, -0.5, 1.0, -0.25, 0.0, 0.5, -0.75, 1.0, 0.25];
const WORDS: usize = seen_words(300);

/// Whether Exact and the classifier agree on the best class, asked by floats and by int8.
fn answers_agree() -> Result<bool, Error> {
    // Behind a black box: an optimiser that sees the bytes would prove more than it can about a user's.
    let (bytes, values) = core::hint::black_box((MODEL, &QUERY[..]));
    if cfg!(zhat_panics_on_purpose) {
        return Ok(values[bytes.len()] > 0.0);
    }
    let model = Model::from_bytes(bytes)?;
    let classifier = Classifier::new(model)?;
    let query = QueryBuffer::<12>::new(&model, values)?;
    let mut scratch = Scratch::<WORDS, 64>::new();
    let exact = zhat::exact::<5>(&model, &query);
    let estimated = classifier.classify::<5, _, _>(&query, &mut scratch)?;
    let drawn = classifier.sample(&query, &mut scratch, &mut Pcg32::new(42, 7))?;
    let probability = exact.probability(&model, &query, drawn.class as usize)?;
    let (Some(truth), Some(best)) = (exact.top.first(), estimated.top.first()) else {
        return Ok(false);
    };
    let (low, high) = estimated.interval(best.p);
    Ok(truth.class == best.class && low <= high && probability <= truth.p)
}

fn report() -> &'static str {
    match answers_agree() {
        Ok(true) => "exact, estimated and drawn, with no way to panic\n",
        Ok(false) => "the answers contradict each other\n",
        Err(_) => "something was refused\n",
    }
}

#[cfg(not(target_os = "none"))]
fn main() {
    print!("{}", report());
}

#[cfg(target_os = "none")]
mod device {
    #![allow(unsafe_code)]

    use core::panic::PanicInfo;
    use cortex_m_semihosting::{debug, hio};

    unsafe extern "C" {
        // Of no file: an error of the linker that names it says that something can panic.
        #[cfg(not(debug_assertions))]
        fn zhat_can_panic() -> !;
    }

    #[panic_handler]
    fn panic(_: &PanicInfo<'_>) -> ! {
        // SAFETY: there is no such function, and no program that calls it.
        #[cfg(not(debug_assertions))]
        unsafe {
            zhat_can_panic()
        }
        // Where overflow is checked there are panics, and they must link.
        #[cfg(debug_assertions)]
        stop(debug::EXIT_FAILURE)
    }

    #[cortex_m_rt::entry]
    fn main() -> ! {
        if let Ok(mut out) = hio::hstdout() {
            let _ = out.write_all(super::report().as_bytes());
        }
        stop(debug::EXIT_SUCCESS)
    }

    fn stop(status: debug::ExitStatus) -> ! {
        debug::exit(status);
        loop {
            cortex_m::asm::nop();
        }
    }
}
