//! Chooses the dot-product kernel: `zhat_dsp` is set where the target has the DSP extension. And links what logs.
//!
//! `cfg(target_feature = "dsp")` is known to nightly compilers only, so the target's name has to do: every ARMv7E-M
//! part has the extension, an ARMv8-M one has it if the chosen processor does.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-check-cfg=cfg(zhat_dsp)");
    // Set by builds of the static library for C (src/capi), and by ci.sh to see that the check for panics finds one.
    println!("cargo:rustc-check-cfg=cfg(zhat_staticlib, zhat_panics_on_purpose)");
    let variable = |name| env::var(name).unwrap_or_default();
    let target = variable("TARGET");
    let flags = variable("CARGO_ENCODED_RUSTFLAGS");
    let has_dsp = ["cortex-m33", "cortex-m35p", "cortex-m55", "cortex-m85", "+dsp"];
    let features = variable("CARGO_CFG_TARGET_FEATURE");
    // `cortex-m33+nodsp` is a part whose maker left the extension out.
    let dsp = target.starts_with("thumbv7em")
        || features.split(',').any(|feature| feature == "dsp")
        || target.starts_with("thumbv8m.main")
            && has_dsp.iter().any(|name| flags.contains(name))
            && !["+nodsp", "=-dsp", ",-dsp"].iter().any(|name| flags.contains(name));
    if dsp {
        println!("cargo:rustc-cfg=zhat_dsp");
    }
    // The example that logs: defmt keeps its strings in sections of their own.
    if variable("CARGO_CFG_TARGET_OS") == "none" && !variable("CARGO_FEATURE_DEFMT").is_empty() {
        println!("cargo:rustc-link-arg-examples=-Tdefmt.x");
    }
    // Clips and thousands of words are more than memory.x has room for; QEMU's boards have 4 MiB.
    if variable("CARGO_CFG_TARGET_OS") == "none" && !variable("CARGO_FEATURE_KEYWORDS").is_empty() {
        println!("cargo:rustc-link-arg-examples=--defsym=_flash_length=4194304");
    }
}
