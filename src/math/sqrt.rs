//! The square root: an instruction where the processor has one for f32, libm elsewhere. Both round correctly, so the
//! bits are the same.

/// Returns √x; NaN below zero.
#[cfg(not(all(target_arch = "arm", target_abi = "eabihf")))]
pub fn sqrt(x: f32) -> f32 {
    libm::sqrtf(x)
}

/// Returns √x; NaN below zero.
#[cfg(all(target_arch = "arm", target_abi = "eabihf"))]
#[allow(unsafe_code)]
#[inline]
pub fn sqrt(x: f32) -> f32 {
    let mut bits = x.to_bits();
    // SAFETY: every target whose ABI passes floats in registers has the instruction. The float register, which a stable
    // compiler does not lend to `asm!`, is as before at the end.
    unsafe {
        core::arch::asm!(
            "vmov {before}, s0",
            "vmov s0, {bits}",
            "vsqrt.f32 s0, s0",
            "vmov {bits}, s0",
            "vmov s0, {before}",
            bits = inout(reg) bits,
            before = out(reg) _,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    f32::from_bits(bits)
}
