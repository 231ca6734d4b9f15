//! Streams of every kind through the whole spotter: no event where there is no word, and never a panic.

use super::sounds::{Numbers, babble, noise, tone};
use proptest::prelude::*;
use zhat::keywords::{Encoder, Event, Spotter};
use zhat::{Classifier, Model, include_model};

static ENCODER: &[u8] = include_model!("../../models/keywords/encoder.bin");
static MODEL: &[u8] = include_model!("../../models/keywords/keywords.zhat");

fn spotter() -> Spotter<'static, 1024> {
    let encoder = Encoder::from_bytes(ENCODER).unwrap();
    Spotter::new(encoder, Classifier::new(Model::from_bytes(MODEL).unwrap()).unwrap()).unwrap()
}

/// Decisions as bits, and events.
fn hear(spotter: &mut Spotter<'static, 1024>, sound: &[i16], block: usize) -> (Vec<(u32, u32, u32)>, Vec<Event>) {
    let (mut decisions, mut events) = (Vec::new(), Vec::new());
    for block in sound.chunks(block) {
        spotter
            .hear(block, |decision| {
                let best = &decision.prediction.top[0];
                decisions.push((decision.frame, best.class, best.p.to_bits()));
                events.extend(decision.event);
            })
            .unwrap();
    }
    (decisions, events)
}

#[test]
fn the_length_of_blocks_changes_no_bit() {
    let sound = babble(1);
    let whole = hear(&mut spotter(), &sound, sound.len());
    assert!(!whole.0.is_empty());
    for len in [1, 160, 320, 777] {
        assert_eq!(hear(&mut spotter(), &sound, len), whole, "blocks of {len}");
    }
}

#[test]
fn what_is_no_word_is_none() {
    let click: Vec<i16> = (0..32_000).map(|t| if t % 9000 == 5000 { i16::MAX } else { 0 }).collect();
    let silences = [vec![0; 48_000], vec![i16::MAX; 48_000], noise(1, 48_000, 30.0), noise(2, 1, 1e4), click];
    for (i, sound) in silences.iter().enumerate() {
        let (_, events) = hear(&mut spotter().with_threshold(0.0), sound, 160);
        assert_eq!(events, [], "sound {i}");
    }
    // A sound that goes on is heard at its beginning, and then is the noise of the place.
    for sound in [tone(96_000, 440.0, 9000.0), noise(3, 96_000, 9000.0)] {
        let mut spotter = spotter();
        hear(&mut spotter, &sound[..64_000], 160);
        let (decisions, _) = hear(&mut spotter, &sound[64_000..], 160);
        assert!(decisions.is_empty());
    }
}

#[test]
fn a_stream_that_stops_has_no_event_and_goes_on() {
    let sound = babble(2);
    let mut stopped = spotter();
    hear(&mut stopped, &sound[..5000], 160);
    hear(&mut stopped, &[], 160);
    let (decisions, _) = hear(&mut stopped, &sound[5000..], 160);
    assert!(!decisions.is_empty());
}

#[test]
fn a_class_in_angle_brackets_is_never_an_event() {
    let clips = std::fs::read("models/keywords/clips.wav").unwrap();
    let sound: Vec<i16> = clips[44..].as_chunks().0.iter().map(|&sample| i16::from_le_bytes(sample)).collect();
    let (decisions, events) = hear(&mut spotter(), &sound, 160);
    assert!(events.len() > 5);
    for refused in [events[0].class, events[events.len() / 2].class] {
        let name = Model::from_bytes(MODEL).unwrap().names().unwrap().get(refused as usize).unwrap();
        let mut bytes = MODEL.to_vec();
        bytes[name.as_ptr() as usize - MODEL.as_ptr() as usize] = b'<';
        let words: Vec<u32> = bytes.as_chunks().0.iter().map(|&word| u32::from_ne_bytes(word)).collect();
        let model = Model::from_bytes_trusted(bytemuck::cast_slice(words.leak())).unwrap(); // the checksum is that of the other name
        let classifier = Classifier::new(model).unwrap();
        let mut spotter = Spotter::<1024>::new(Encoder::from_bytes(ENCODER).unwrap(), classifier).unwrap();
        let (others, left) = hear(&mut spotter, &sound, 160);
        let expected: Vec<Event> = events.iter().filter(|event| event.class != refused).copied().collect();
        assert_eq!(left, expected);
        assert!(others.len() >= decisions.len()); // a word that is refused is listened to up to its end
    }
}

#[test]
fn decisions_are_ten_a_second() {
    let (decisions, _) = hear(&mut spotter().with_threshold(1.1), &babble(4), 160);
    // Within a word they are 100 ms apart, or the last comes earlier.
    let apart: Vec<u32> = decisions.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    assert!(apart.iter().filter(|&&frames| frames == 10).count() * 2 > apart.len(), "{apart:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn nothing_panics(seed in any::<u64>(), pieces in prop::collection::vec((0u32..6, 1usize..8000), 1..8), block in 1usize..900) {
        let mut numbers = Numbers(seed);
        let sound: Vec<i16> = pieces
            .into_iter()
            .flat_map(|(kind, len)| match kind {
                0 => vec![0; len],
                1 => noise(seed, len, 32_767.0),
                2 => tone(len, 2000.0 * (1.0 + numbers.next()), 1e5),
                3 => vec![i16::MIN; len],
                4 => babble(seed)[..len].to_vec(),
                _ => noise(seed, len, 40.0),
            })
            .collect();
        let (_, events) = hear(&mut spotter().with_threshold(0.0), &sound, block);
        for event in events {
            prop_assert!(event.begin <= event.end && (0.0..=1.0).contains(&event.p));
        }
    }
}
