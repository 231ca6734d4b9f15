//! Tests the device harness itself: checks against known results what the other examples use to measure.
#![cfg_attr(target_os = "none", no_std, no_main)]

mod support;
use core::hint::black_box;
use support::{Sizes, entry, figure, say};

entry!(run);

fn run() -> Result<(), &'static str> {
    counter_is_exact_to_its_resolution()?;
    paint_shows_the_deepest_stack()?;
    sizes_fit_the_part()?;
    say!("the harness measures what it says");
    Ok(())
}

/// Checks short and long spans; the last is longer than SysTick's 24 bits.
fn counter_is_exact_to_its_resolution() -> Result<(), &'static str> {
    for iterations in [1_000, 100_000, 10_000_000, 600_000_000] {
        let ((), counted) = support::instructions_of(|| support::spin(iterations));
        let expected = 2 * u64::from(iterations);
        let Some((counted, resolution)) = counted.zip(support::resolution()) else {
            continue;
        };
        figure!("{expected} instructions in a loop, {counted} counted");
        if counted.abs_diff(expected) > resolution {
            return Err("the instruction counter is wrong");
        }
    }
    Ok(())
}

fn paint_shows_the_deepest_stack() -> Result<(), &'static str> {
    support::paint();
    use_stack::<1_024>();
    let small = support::deepest();
    use_stack::<8_192>();
    let large = support::deepest();
    let Some((small, large)) = small.zip(large) else {
        return Ok(());
    };
    figure!("stack: {small} bytes with 1 KiB used, {large} with 8 KiB");
    if !(1_024..=2_048).contains(&small) || large.abs_diff(small + 7 * 1_024) > 64 {
        return Err("the stack's depth is wrong");
    }
    Ok(())
}

#[inline(never)]
fn use_stack<const BYTES: usize>() {
    black_box(&mut [1_u8; BYTES]);
}

fn sizes_fit_the_part() -> Result<(), &'static str> {
    let Some(Sizes { code, flash, static_ram }) = support::sizes() else {
        return Ok(());
    };
    figure!("flash: {flash} bytes, {code} of them code; static RAM: {static_ram} bytes");
    if code == 0 || flash < code || flash > 64 * 1_024 || static_ram > 1_024 {
        return Err("the sizes are wrong");
    }
    Ok(())
}
