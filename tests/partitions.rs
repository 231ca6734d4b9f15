//! The recipe of `guide::own_board` for two partitions: whenever the power fails, a whole model is found.

#[path = "../src/guide/partitions.rs"]
#[allow(missing_docs)]
mod partitions;

use partitions::{Flash, Refused, Update, newest};
use proptest::prelude::*;
use zhat::model::Aligned;
use zhat::{Error, Model};

const MODELS: [&[u8]; 3] = [
    include_bytes!("../fuzz/seeds/model/flat.zhat"),
    include_bytes!("../fuzz/seeds/model/input_scale.zhat"),
    include_bytes!("../fuzz/seeds/model/centred.zhat"),
];
const SIZE: usize = 2048;
const BLOCK: usize = 64;

/// The power has failed.
#[derive(Debug, PartialEq)]
struct Lost;

/// Flash that loses its power in the middle of an operation.
struct Simulated {
    bytes: Box<Aligned<[u8; SIZE]>>,
    /// Operations until then, and how many bytes of the next one are done.
    left: usize,
    done: usize,
}

impl Simulated {
    fn erased() -> Self {
        Self { bytes: Box::new(Aligned([0xff; SIZE])), left: usize::MAX, done: 0 }
    }

    /// How many of `len` bytes the next operation gets done, and whether it is cut.
    fn next(&mut self, len: usize) -> (usize, bool) {
        let Some(left) = self.left.checked_sub(1) else {
            let done = self.done.min(len);
            self.done = 0;
            return (done, true);
        };
        self.left = left;
        (len, false)
    }
}

impl Flash for Simulated {
    type Error = Lost;
    const BLOCK: usize = BLOCK;

    fn erase_block(&mut self, at: usize) -> Result<(), Lost> {
        assert!(at.is_multiple_of(BLOCK), "no block");
        let (done, is_cut) = self.next(BLOCK);
        self.bytes.0[at..][..done].fill(0xff);
        // Cells on their way read as anything.
        self.bytes.0[at..][..BLOCK].iter_mut().skip(done).take(if is_cut { 20 } else { 0 }).for_each(|b| *b |= 0x5a);
        if is_cut { Err(Lost) } else { Ok(()) }
    }

    fn write(&mut self, at: usize, bytes: &[u8]) -> Result<(), Lost> {
        let (done, is_cut) = self.next(bytes.len());
        let place = &mut self.bytes.0[at..][..bytes.len()];
        assert!(place.iter().all(|&byte| byte == 0xff), "written to flash that was not erased");
        place[..done].copy_from_slice(&bytes[..done]);
        if let Some((next, &byte)) = place.get_mut(done).zip(bytes.get(done)) {
            *next = byte | 0xa5;
        }
        if is_cut { Err(Lost) } else { Ok(()) }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes.0
    }
}

/// Puts a file into the partition that is not in use.
fn update(flash: &mut [Simulated; 2], file: &[u8]) -> Result<(), Refused<Lost>> {
    let in_use = newest(flash).unwrap_or(1);
    let [a, b] = flash;
    let (used, free) = if in_use == 0 { (&*a, b) } else { (&*b, a) };
    let mut update = Update::start(used, free)?;
    file.chunks(BLOCK).try_for_each(|block| update.push(block))?;
    update.finish()
}

/// Which file the next start finds, after power is back; it has to be whole.
fn found(flash: &mut [Simulated; 2]) -> Option<usize> {
    flash.iter_mut().for_each(|partition| partition.left = usize::MAX);
    let bytes = flash[newest(flash)?].bytes();
    let model = Model::from_prefix(bytes).expect("a model that was found passes all checks");
    assert!(Model::from_prefix_trusted(bytes).is_ok());
    let file = &bytes[..model.len()];
    Some(MODELS.iter().position(|known| *known == file).expect("one that was written"))
}

#[test]
fn erased_flash_holds_no_model_and_takes_one() {
    let mut flash = [Simulated::erased(), Simulated::erased()];
    assert_eq!(found(&mut flash), None);
    for file in [0, 1, 2, 1, 0, 0] {
        update(&mut flash, MODELS[file]).expect("power");
        assert_eq!(found(&mut flash), Some(file));
    }
}

/// At every operation, at its start, in the middle, and at its last byte.
#[test]
fn whenever_the_power_fails_the_old_model_or_the_new_one_is_whole() {
    for first in [None, Some(0)] {
        for cut in 0.. {
            let mut was_cut = false;
            for done in [0, 1, 4, 9, 12, 31, 32, BLOCK - 1, BLOCK] {
                let mut flash = [Simulated::erased(), Simulated::erased()];
                if let Some(file) = first {
                    // Three times, so that both partitions hold models and records of before.
                    for file in [2, 1, file] {
                        update(&mut flash, MODELS[file]).expect("power");
                    }
                }
                flash.iter_mut().for_each(|partition| (partition.left, partition.done) = (cut, done));
                let result = update(&mut flash, MODELS[2]);
                was_cut |= result.is_err();
                let found_then = found(&mut flash);
                if result.is_ok() {
                    assert_eq!(found_then, Some(2), "an update that is done counts");
                }
                assert!(
                    found_then == first || found_then == Some(2),
                    "{found_then:?} at operation {cut}, {done} bytes"
                );
                // The next try gets through.
                update(&mut flash, MODELS[1]).expect("power");
                assert_eq!(found(&mut flash), Some(1));
            }
            if !was_cut {
                assert!(cut > MODELS[2].len() / BLOCK, "few operations were cut: {cut}");
                break;
            }
        }
    }
}

#[test]
fn a_file_that_is_damaged_or_cut_short_or_too_long_is_refused() {
    let mut flash = [Simulated::erased(), Simulated::erased()];
    update(&mut flash, MODELS[0]).expect("power");
    for len in (0..MODELS[1].len()).step_by(97) {
        let refused = update(&mut flash, &MODELS[1][..len]);
        assert!(matches!(refused, Err(Refused::Model(_))), "{len} bytes: {refused:?}");
        assert_eq!(found(&mut flash), Some(0));
    }
    // The rest of a longer file of before is not taken for the end of a shorter one.
    update(&mut flash, MODELS[1]).expect("power");
    update(&mut flash, MODELS[0]).expect("power");
    let mut damaged = MODELS[1].to_vec();
    damaged[MODELS[1].len() / 2] ^= 1;
    assert!(matches!(update(&mut flash, &damaged), Err(Refused::Model(Error::Checksum))));
    damaged[8] = 200;
    assert!(matches!(update(&mut flash, &damaged), Err(Refused::Model(Error::Version(200)))));
    assert!(matches!(update(&mut flash, &[0; SIZE]), Err(Refused::TooLong)));
    assert_eq!(found(&mut flash), Some(0));
}

proptest! {
    /// Updates one after the other, each cut somewhere or not.
    #[test]
    fn no_series_of_updates_and_power_losses_leaves_no_model(
        steps in prop::collection::vec((0..MODELS.len(), 0..30usize, 0..BLOCK), 1..20)
    ) {
        let mut flash = [Simulated::erased(), Simulated::erased()];
        update(&mut flash, MODELS[0]).expect("power");
        let mut before = 0;
        for (file, left, done) in steps {
            flash.iter_mut().for_each(|partition| (partition.left, partition.done) = (left, done));
            let is_done = update(&mut flash, MODELS[file]).is_ok();
            let now = found(&mut flash);
            prop_assert!(now == Some(file) || !is_done && now == Some(before), "{now:?}");
            before = now.unwrap_or(before);
        }
    }

    /// Flash that something else was written to.
    #[test]
    fn noise_is_no_model(noise in prop::collection::vec(any::<u8>(), SIZE), start in any::<bool>()) {
        let mut flash = [Simulated::erased(), Simulated::erased()];
        flash[1].bytes.0.copy_from_slice(&noise);
        if start {
            flash[1].bytes.0[..MODELS[0].len()].copy_from_slice(MODELS[0]);
        }
        prop_assert_eq!(newest(&flash), None);
        update(&mut flash, MODELS[2]).expect("power");
        prop_assert_eq!(found(&mut flash), Some(2));
    }
}
