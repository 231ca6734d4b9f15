//! When a word begins and ends: energy, with hysteresis, against the noise of the place.
//!
//! The noise is the least level of the last 1.6 s: speech has gaps, noise has none (Martin, "Spectral Subtraction Based
//! on Minimum Statistics", 1994). A sound that goes on is noise after that time. A few additions a frame.

/// Frames of which each minimum is kept, and how many minima.
const BLOCK: u32 = 40;
const BLOCKS: usize = 4;
/// What a place is taken for that nothing is known of yet, and the level below which nothing is a word: −60 dB of full
/// scale.
const QUIET_PLACE: f32 = -3.3;
/// How much of a new level is taken over into the one that minima are of.
const NEW: f32 = 0.3;

/// Above the noise by so much is loud, and a word begins after so many frames of it: 10 dB, 30 ms.
const LOUD: f32 = 2.3;
const LOUD_FRAMES: u32 = 3;
/// Above the noise by less than this, or below the loudest frame by more, is quiet: 6 dB, 33 dB.
const QUIET: f32 = 1.4;
const BELOW_PEAK: f32 = 7.6;

/// A word ends after so many quiet frames: 200 ms.
pub(super) const QUIET_FRAMES: u32 = 20;
/// What is loud for less than this is a click, no word: 80 ms.
const LEAST_LOUD: u32 = 8;
/// Nothing is longer than this, with what is encoded from before the beginning: 1.6 s.
const LONGEST: u32 = 160 - super::spotter::BEFORE;

/// What a frame is to the words.
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
    /// A word goes on, or has been quiet for a moment.
    Inside,
    /// It was quiet for long enough: a word has ended.
    End,
    /// It went on for longer than words do.
    Cut,
}

/// Tells words from silence and noise by the level of frames.
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

/// What is known of a word that lasts.
#[derive(Clone, Copy, Debug)]
struct Word {
    /// The noise at its beginning.
    noise: f32,
    frames: u32,
    loud: u32,
    quiet_run: u32,
    peak: f32,
}

impl Detector {
    /// Creates a detector for a place that is taken for quiet.
    ///
    /// ```
    /// assert!(zhat::keywords::Detector::new().noise() < -3.0);
    /// ```
    pub const fn new() -> Self {
        Self { smoothed: QUIET_PLACE, minima: [QUIET_PLACE; BLOCKS], frames_of_block: 0, loud_run: 0, word: None }
    }

    /// Returns the level of the noise.
    ///
    /// ```
    /// let mut detector = zhat::keywords::Detector::new();
    /// [1.5; 300].map(|level| detector.push(level));
    /// assert!((detector.noise() - 1.5).abs() < 0.01);
    /// ```
    pub fn noise(&self) -> f32 {
        self.minima.iter().fold(f32::INFINITY, |least, &minimum| least.min(minimum))
    }

    /// Returns how many frames it has been quiet for, within a word.
    ///
    /// ```
    /// let mut detector = zhat::keywords::Detector::new();
    /// [3.0, 3.0, 3.0, 3.0, -9.0, -9.0].map(|level| detector.push(level));
    /// assert_eq!(detector.quiet_frames(), 2);
    /// ```
    pub fn quiet_frames(&self) -> u32 {
        self.word.map_or(0, |word| word.quiet_run)
    }

    /// Tells whether a sound that lasts, or ends with this frame, is loud for long enough to be a word.
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

    /// Takes the level of the next frame. After [`Moment::End`] and [`Moment::Cut`] the word is still there to be asked
    /// about, until the next frame.
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
        // Noise that grows during a word may be the word: only what falls ends it.
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

    /// Ends the word, if there is one: it has been understood.
    ///
    /// ```
    /// let mut detector = zhat::keywords::Detector::new();
    /// [3.0; 20].map(|level| detector.push(level));
    /// detector.finish();
    /// assert!(!detector.is_word());
    /// ```
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
