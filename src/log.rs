//! Log points: defmt's on a device with the feature `defmt`, nothing anywhere else. (A host has no transport for defmt.)

#[cfg(all(feature = "defmt", target_os = "none"))]
pub(crate) use defmt::{debug, error, info};

#[cfg(not(all(feature = "defmt", target_os = "none")))]
mod silent {
    macro_rules! silent {
        ($text:literal $(, $value:expr)* $(,)?) => {{
            $(let _ = &$value;)*
        }};
    }
    pub(crate) use {silent as debug, silent as error, silent as info};
}
#[cfg(not(all(feature = "defmt", target_os = "none")))]
pub(crate) use silent::{debug, error, info};
