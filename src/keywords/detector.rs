//! Word boundaries: energy, with hysteresis, against the noise level of the surroundings.
//!
//! The noise level is the lowest level of the last 1.6 s: speech has gaps, noise has none (Martin, "Spectral
//! Subtraction Based on Minimum Statistics", 1994). A sound that lasts longer becomes noise. Costs a few
//! additions a frame.

/// The number of frames that share a minimum, and the number of minima.
const BLOCK: u32 = 40;
const BLOCKS: usize = 4;
/// The noise level assumed at the start, and the level below which nothing is a word: −60 dB of full scale.
const QUIET_PLACE: f32 = -3.3;
/// The weight of a new level in the smoothed level, of which the minima are taken.
const NEW: f32 = 0.3;

/// A frame is loud at this much above the noise, and a word begins after this many loud frames: 10 dB, 30 ms.
const LOUD: f32 = 2.3;
const LOUD_FRAMES: u32 = 3;
/// A frame is quiet at less than this above the noise, or at more than this below the loudest frame: 6 dB, 33 dB.
const QUIET: f32 = 1.4;
const BELOW_PEAK: f32 = 7.6;

/// The number of quiet frames that end a word: 200 ms.
pub(super) const QUIET_FRAMES: u32 = 20;
/// The number of loud frames that a word has at least; a sound with fewer is a click: 80 ms.
const LEAST_LOUD: u32 = 8;
/// The most frames of a word, together with those that are encoded from before its beginning: 1.6 s.
const LONGEST: u32 = 160 - super::spotter::BEFORE;

/// The place of a frame relative to words.
///
/// ```
/// use zhat::keywords::{Detector, Moment};
///
/// let mut detector = Detector::new();
/// let quiet = [-6.0; 50].map(|level| detector.push(level));
/// assert!(quiet.iter().all(|&moment| moment == Moment::Silence));
/// let loud = [3.0; 4].map(|level| detector.push(level));
/// assert_eq!(loud, [Moment::Silence, Moment::Silence, Moment::Begin, Moment::Inside]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Moment {
    /// No word.
    Silence,
    /// A word has begun, a little before.
    Begin,
    /// A word continues, perhaps with a short pause.
    Inside,
    /// A word has ended, after enough quiet frames.
    End,
    /// A sound went on for longer than a word does, and was cut off.
    Cut,
}

/// Finds the boundaries of words from the levels of frames.
///
/// ```
/// use zhat::keywords::{Detector, Moment};
///
/// // A sound that does not end is noise after a while.
/// let mut detector = Detector::new();
/// let moments = [0.0; 600].map(|level| detector.push(level));
/// assert!(moments[..10].contains(&Moment::Begin));
/// assert!(moments[400..].iter().all(|&moment| moment == Moment::Silence));
/// ```
#[derive(Clone, Debug)]
pub struct Detector {
    smoothed: f32,
    minima: [f32; BLOCKS],
    frames_of_block: u32,
    /// Loud frames in a row.
    loud_run: u32,
    word: Option<Word>,
}

/// The word in progress.
#[derive(Clone, Copy, Debug)]
struct Word {
    /// The noise level at its beginning.
    noise: f32,
    frames: u32,
    loud: u32,
    quiet_run: u32,
    peak: f32,
}

impl Detector {
    /// Creates a detector that assumes quiet surroundings.
    ///
    /// ```
    /// assert!(zhat::keywords::Detector::new().noise() < -3.0);
    /// ```
    pub const fn new() -> Self {
        Self { smoothed: QUIET_PLACE, minima: [QUIET_PLACE; BLOCKS], frames_of_block: 0, loud_run: 0, word: None }
    }

    /// Returns the noise level.
    ///
    /// ```
    /// let mut detector = zhat::keywords::Detector::new();
    /// [1.5; 300].map(|level| detector.push(level));
    /// assert!((detector.noise() - 1.5).abs() < 0.01);
    /// ```
    pub fn noise(&self) -> f32 {
        self.minima.iter().fold(f32::INFINITY, |least, &minimum| least.min(minimum))
    }

    /// Returns the number of quiet frames in a row, within a word.
    pub fn quiet_frames(&self) -> u32 {
        self.word.map_or(0, |word| word.quiet_run)
    }

    /// Returns true if the sound in progress, or the one that ends with this frame, was loud for long enough to be a
    /// word.
    ///
    /// ```
    /// let mut detector = zhat::keywords::Detector::new();
    /// [3.0; 4].map(|level| detector.push(level));
    /// assert!(!detector.is_word()); // as yet a click
    /// [3.0; 10].map(|level| detector.push(level));
    /// assert!(detector.is_word());
    /// ```
    pub fn is_word(&self) -> bool {
        self.word.is_some_and(|word| word.loud >= LEAST_LOUD)
    }

    /// Takes the level of the next frame. After [`Moment::End`] and [`Moment::Cut`] the other methods still describe
    /// the ended word, until the next frame.
    ///
    /// ```
    /// use zhat::keywords::{Detector, Moment};
    ///
    /// let mut detector = Detector::new();
    /// let word = [3.0; 30].map(|level| detector.push(level));
    /// let after = [-6.0; 30].map(|level| detector.push(level));
    /// assert!(word.contains(&Moment::Begin));
    /// assert_eq!(after.iter().position(|&moment| moment == Moment::End), Some(19));
    /// ```
    pub fn push(&mut self, level: f32) -> Moment {
        if self.has_ended() {
            self.word = None;
        }
        self.track(level);
        // A rising noise level during a word may be the word itself, so only a falling level counts.
        let noise = self.word.map_or(f32::INFINITY, |word| word.noise).min(self.noise());
        let is_loud = level > (noise + LOUD).max(QUIET_PLACE);
        self.loud_run = if is_loud { self.loud_run.saturating_add(1) } else { 0 };
        let Some(word) = &mut self.word else {
            if self.loud_run < LOUD_FRAMES {
                return Moment::Silence;
            }
            let loud = self.loud_run.min(LOUD_FRAMES);
            self.word = Some(Word { noise, frames: 0, loud, quiet_run: 0, peak: level });
            return Moment::Begin;
        };
        word.peak = word.peak.max(level);
        let is_quiet = level < (noise + QUIET).max(QUIET_PLACE).max(word.peak - BELOW_PEAK);
        word.quiet_run = if is_quiet { word.quiet_run + 1 } else { 0 };
        word.frames += 1;
        word.loud += u32::from(is_loud);
        match (word.quiet_run >= QUIET_FRAMES, word.frames >= LONGEST) {
            (true, _) => Moment::End,
            (false, true) => Moment::Cut,
            (false, false) => Moment::Inside,
        }
    }

    /// Ends the word early, if there is one, for a caller that has recognised it.
    pub fn finish(&mut self) {
        self.word = None;
        self.loud_run = 0;
    }

    fn has_ended(&self) -> bool {
        self.word.is_some_and(|word| word.quiet_run >= QUIET_FRAMES || word.frames >= LONGEST)
    }

    fn track(&mut self, level: f32) {
        self.smoothed += NEW * (level - self.smoothed);
        if self.frames_of_block == BLOCK {
            self.frames_of_block = 0;
            self.minima.rotate_right(1);
            self.minima[0] = self.smoothed;
        }
        self.frames_of_block += 1;
        self.minima[0] = self.minima[0].min(self.smoothed);
    }
}

impl Default for Detector {
    fn default() -> Self {
        Self::new()
    }
}
