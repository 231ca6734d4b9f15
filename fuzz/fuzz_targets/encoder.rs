//! Opens arbitrary bytes as an encoder of keywords: it is refused, or it encodes any frames without a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zhat::keywords::{BANDS, Encoder, EncoderState};
use zhat_fuzz::Aligned;

fuzz_target!(|bytes: &[u8]| {
    let file = Aligned::encoder(bytes);
    let Ok(encoder) = Encoder::from_bytes(file.bytes()) else { return };
    let mut state = EncoderState::new();
    for t in 0..9 {
        let band = |b: usize| ((t * BANDS + b) as f32 * 0.7).sin() * 20.0;
        state.push(&encoder, &core::array::from_fn(band));
    }
    let _ = (state.query::<4>(&encoder), state.query::<12>(&encoder), encoder.thresholds());
});
