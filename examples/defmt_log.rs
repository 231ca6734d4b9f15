//! Prints zhat's log through defmt, over semihosting: the opened model, the work of each answer, and the answers
//! themselves, whose types implement `defmt::Format`. On a host, where defmt has no transport, it prints the answers
//! only.
#![cfg_attr(target_os = "none", no_std, no_main)]

use zhat::{Classifier, Error, Model, QueryBuffer, Scratch, include_model, scratch_words};

static MODEL: &[u8] = include_model!("../tests/data/maclaurin.zhat");
const QUERY: [f32; 12] = [0.5, -1.0, 0.75, 0.25, -0.5, 1.0, -0.25, 0.0, 0.5, -0.75, 1.0, 0.25];

fn run() -> Result<(), Error> {
    let model = Model::from_bytes(MODEL)?;
    let classifier = Classifier::new(model)?;
    let query = QueryBuffer::<12>::new(&model, &QUERY)?;
    let answer = classifier.classify::<3>(&query, &mut Scratch::<{ scratch_words(300, 256) }>::new())?;
    for best in &answer.top {
        show(best);
    }
    // A truncated file is refused, and the log says why.
    let _ = Model::from_bytes(&MODEL[..MODEL.len() / 2]);
    Ok(())
}

#[cfg(target_os = "none")]
fn show(best: &zhat::Ranked) {
    defmt::println!("{}", best);
}

#[cfg(not(target_os = "none"))]
fn show(best: &zhat::Ranked) {
    println!("{best:?}");
}

#[cfg(target_os = "none")]
mod device {
    use cortex_m_semihosting::debug;
    // The transport: linked, but never named.
    use defmt_semihosting as _;

    #[cortex_m_rt::entry]
    fn main() -> ! {
        match super::run() {
            Ok(()) => debug::exit(debug::EXIT_SUCCESS),
            Err(error) => {
                defmt::error!("{}", error);
                debug::exit(debug::EXIT_FAILURE);
            }
        }
        halt()
    }

    #[panic_handler]
    fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
        defmt::error!("panic");
        debug::exit(debug::EXIT_FAILURE);
        halt()
    }

    fn halt() -> ! {
        loop {
            cortex_m::asm::nop();
        }
    }
}

#[cfg(not(target_os = "none"))]
fn main() -> Result<(), Error> {
    run()
}
