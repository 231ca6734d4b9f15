//! The keyword spotter: samples in, decisions and events out.

use heapless::Vec;

use super::{
    detector::{Detector, Moment},
    encoder::{DIM, Encoder, EncoderState},
    features::{BANDS, Features, Frame},
};
use crate::{Error, classifier::Classifier, estimators::Prediction, rows::QueryBuffer, search::Scratch};

/// The number of frames from before the beginning of a word that are encoded with it: 120 ms.
pub(super) const BEFORE: u32 = 12;
/// The number of frames that are kept: a power of two above [`BEFORE`].
const KEPT: usize = 16;
/// The most frames that are encoded for each new one. After the beginning of a word the encoder is [`BEFORE`] frames
/// behind and catches up little by little, so that no block of samples takes much longer than another.
const AT_ONCE: u32 = 2;
/// The number of frames from one decision to the next: ten decisions a second.
const BETWEEN: u32 = 10;
/// The number of decisions after the end of a word that an event needs.
const LEAST_DECISIONS: u32 = 2;
/// The number of frames for which the same word is not reported again: 0.5 s.
const REFRACTORY: u32 = 50;
/// The number of classes in a decision.
pub const TOP: usize = 5;
/// The name of the class for sounds that are no word of the vocabulary.
///
/// No class whose name is in angle brackets is ever an event. A small vocabulary keeps the words that sound like its own under
/// such names: their share of p stays theirs, and they are refused.
pub const OTHER: &str = "<other>";

/// A recognised word.
///
/// ```
/// # let sound = zhat::doc_sound();
/// # let mut spotter = zhat::doc_spotter();
/// spotter.hear(sound, |decision| {
///     if let Some(event) = decision.event {
///         println!("{} ms: class {}, p {}", 10 * event.end, event.class, event.p);
///         assert!(event.begin < event.end);
///     }
/// })?;
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Event {
    /// The frame, of 10 ms, at which the word was noticed.
    pub begin: u32,
    /// The frame at which it fell silent.
    pub end: u32,
    /// The word.
    pub class: u32,
    /// Its probability: the mean over the decisions since it fell silent.
    pub p: f32,
    /// The interval of the last decision, if the class is in its list and the query is familiar.
    pub interval: Option<(f32, f32)>,
}

/// An answer of the output layer within a word: ten times a second and at its end.
///
/// ```
/// # let sound = zhat::doc_sound();
/// # let mut spotter = zhat::doc_spotter();
/// let mut most = 0.0_f32;
/// spotter.hear(sound, |decision| most = most.max(decision.prediction.top[0].p))?;
/// assert!(most > 0.0);
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Decision {
    /// The number of the last frame.
    pub frame: u32,
    /// The classes.
    pub prediction: Prediction<TOP>,
    /// The event, if the word is over and its probability is high enough.
    pub event: Option<Event>,
}

/// Recognises words in a stream of samples. Holds all of its memory; `WORDS` is the scratch memory of the search, which
/// `zhat inspect` prints.
///
/// ```
/// # let (sound, encoder) = (zhat::doc_sound(), zhat::doc_file("models/keywords/encoder.bin"));
/// # let model = zhat::doc_file("models/keywords/keywords.zhat");
/// use zhat::keywords::{Encoder, HOP, Spotter};
/// use zhat::{Classifier, Model};
///
/// let model = Model::from_bytes(model)?;
/// let encoder = Encoder::from_bytes(encoder).expect("an encoder");
/// let mut spotter = Spotter::<1024>::new(encoder, Classifier::new(model)?)?;
/// for block in sound.chunks(HOP) {
///     // As the microphone gives them.
///     spotter.hear(block, |decision| {
///         if let Some(event) = decision.event {
///             println!("{:?} {:.3}", model.names().and_then(|names| names.get(event.class as usize)), event.p);
///         }
///     })?;
/// }
/// # Ok::<(), zhat::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Spotter<'a, const WORDS: usize> {
    features: Features,
    detector: Detector,
    /// The last frames; frame n is at index n modulo [`KEPT`].
    kept: [[f32; BANDS]; KEPT],
    /// The number of frames heard, and of the first that is still to be encoded.
    heard: u32,
    encoded: u32,
    word: Option<Word>,
    encoder: Encoder<'a>,
    state: EncoderState,
    /// The query for the output layer, if a decision is due.
    values: Option<Values>,
    classifier: Classifier<'a>,
    query: QueryBuffer<DIM>,
    scratch: Scratch<WORDS>,
    smoothing: Smoothing,
    threshold: f32,
    last: Option<Event>,
}

/// The word in progress.
#[derive(Clone, Copy, Debug)]
struct Word {
    begin: u32,
    /// The number of frames since it began.
    frames: u32,
    /// True if the last frame was its end.
    is_over: bool,
}

/// A query as the encoder outputs it.
type Values = [f32; DIM];

impl<'a, const WORDS: usize> Spotter<'a, WORDS> {
    /// The RAM that a spotter takes, in bytes, beside the stack.
    pub const RAM: usize = size_of::<Self>();

    /// Creates a spotter with the threshold that is stored with the encoder.
    ///
    /// ```
    /// # let (model, encoder) = (zhat::doc_file("models/keywords/keywords.zhat"), zhat::doc_file("models/keywords/encoder.bin"));
    /// # let (model, encoder) = (zhat::Model::from_bytes(model)?, zhat::keywords::Encoder::from_bytes(encoder).unwrap());
    /// use zhat::{Classifier, Error, keywords::Spotter};
    ///
    /// assert!(Spotter::<1024>::new(encoder, Classifier::new(model)?).is_ok());
    /// let other = Classifier::new(zhat::Model::from_bytes(zhat::doc_file("models/next_word.zhat"))?)?;
    /// assert_eq!(Spotter::<1024>::new(encoder, other).unwrap_err(), Error::QueryLength);
    /// # Ok::<(), zhat::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::QueryLength`] if the model's dimension is not the encoder's, [`Error::ScratchWords`] if the model needs
    /// more `WORDS`.
    // Inlined, so that the spotter is built in its place and not copied from the stack.
    #[inline(always)]
    pub fn new(encoder: Encoder<'a>, classifier: Classifier<'a>) -> Result<Self, Error> {
        let model = classifier.model();
        if encoder.dim() != DIM || model.dim() != DIM {
            return Err(Error::QueryLength);
        }
        if WORDS < model.scratch_words() {
            return Err(Error::ScratchWords(model.scratch_words() as u32));
        }
        Ok(Self {
            features: Features::new(),
            detector: Detector::new(),
            kept: [[0.0; BANDS]; KEPT],
            heard: 0,
            encoded: 0,
            word: None,
            encoder,
            state: EncoderState::new(),
            values: None,
            classifier,
            query: QueryBuffer::empty(),
            scratch: Scratch::new(),
            smoothing: Smoothing::new(),
            threshold: encoder.thresholds().p,
            last: None,
        })
    }

    /// Returns the spotter with another threshold.
    ///
    /// ```
    /// # let sound = zhat::doc_sound();
    /// let mut deaf = zhat::doc_spotter().with_threshold(1.1);
    /// deaf.hear(sound, |decision| assert!(decision.event.is_none()))?;
    /// # Ok::<(), zhat::Error>(())
    /// ```
    #[inline(always)]
    pub fn with_threshold(mut self, threshold: f32) -> Self {
        self.threshold = threshold;
        self
    }

    /// Returns true while a word is in progress and the encoder is at work.
    pub fn is_listening(&self) -> bool {
        self.word.is_some()
    }

    /// Processes a block of samples of any length, and calls `each` for every decision. Runs the three steps below for
    /// each frame.
    ///
    /// ```
    /// # let sound = zhat::doc_sound();
    /// // The length of the blocks changes nothing.
    /// let mut heard = [160, 1000].map(|len| {
    ///     let (mut spotter, mut all) = (zhat::doc_spotter(), Vec::new());
    ///     for block in sound.chunks(len) {
    ///         spotter.hear(block, |decision| all.push((decision.frame, decision.event))).expect("decisions");
    ///     }
    ///     all
    /// });
    /// assert_eq!(heard[0], heard[1]);
    /// ```
    ///
    /// # Errors
    /// Those of [`decide`](Self::decide). The samples after the error are lost.
    pub fn hear(&mut self, mut samples: &[i16], mut each: impl FnMut(&Decision)) -> Result<(), Error> {
        while !samples.is_empty() {
            let frame;
            (frame, samples) = self.sample(samples);
            if let Some(frame) = frame
                && self.listen(&frame)
                && let Some(decision) = self.decide()?
            {
                each(&decision);
            }
        }
        Ok(())
    }

    /// Runs the first step: takes samples up to the end of a frame, as [`Features::push`].
    pub fn sample<'s>(&mut self, samples: &'s [i16]) -> (Option<Frame>, &'s [i16]) {
        self.features.push(samples)
    }

    /// Runs the second step: passes a frame to the detector and, within a word, through the encoder. Returns true if a
    /// decision is due and its query is ready.
    pub fn listen(&mut self, frame: &Frame) -> bool {
        if let Some(place) = self.kept.get_mut(self.heard as usize % KEPT) {
            *place = frame.bands;
        }
        self.heard = self.heard.wrapping_add(1);
        let moment = self.detector.push(frame.level);
        match moment {
            Moment::Silence => self.word = None,
            Moment::Begin => {
                self.state.clear();
                self.smoothing.clear();
                self.encoded = self.heard.saturating_sub(BEFORE + 1);
                self.word = Some(Word { begin: self.heard, frames: 0, is_over: false });
            }
            Moment::Inside | Moment::End | Moment::Cut => {}
        }
        let Some(word) = &mut self.word else { return false };
        if self.detector.quiet_frames() == 0 {
            // The quiet frames were a pause within the word.
            self.smoothing.clear();
        }
        word.is_over = matches!(moment, Moment::End | Moment::Cut);
        word.frames += 1;
        for _ in 0..AT_ONCE {
            if self.encoded == self.heard {
                break;
            }
            if let Some(bands) = self.kept.get(self.encoded as usize % KEPT) {
                self.state.push(&self.encoder, bands);
            }
            self.encoded = self.encoded.wrapping_add(1);
        }
        // `new` has checked that the encoder has this size.
        let is_due = word.is_over || word.frames.is_multiple_of(BETWEEN);
        self.values = if is_due { self.state.query(&self.encoder).ok() } else { None };
        self.values.is_some()
    }

    /// Runs the third step, if [`listen`](Self::listen) returned true: classifies the query, and reports an event if
    /// the word is over and its probability is high enough. Returns `None` outside of a word.
    ///
    /// # Errors
    /// Those of [`Classifier::classify`], if the encoder's activations are not finite.
    pub fn decide(&mut self) -> Result<Option<Decision>, Error> {
        let Some((word, values)) = self.word.zip(self.values.take()) else { return Ok(None) };
        self.query.set(self.classifier.model(), &values)?;
        let prediction = self.classifier.classify::<TOP>(&self.query, &mut self.scratch)?;
        if self.detector.quiet_frames() > 0 {
            self.smoothing.add(&prediction);
        }
        let event = self.event(&word, &prediction);
        if event.is_some() {
            self.last = event;
            self.detector.finish();
        }
        if event.is_some() || word.is_over {
            self.word = None;
        }
        Ok(Some(Decision { frame: self.heard, prediction, event }))
    }

    /// Returns an event if all conditions for one hold.
    fn event(&self, word: &Word, prediction: &Prediction<TOP>) -> Option<Event> {
        let (class, p) = self.smoothing.best()?;
        let end = self.heard.wrapping_sub(self.detector.quiet_frames());
        let is_echo =
            self.last.is_some_and(|last| last.class == class && word.begin.wrapping_sub(last.end) < REFRACTORY);
        let is_event = p >= self.threshold
            && self.smoothing.decisions() >= LEAST_DECISIONS
            && self.detector.is_word()
            && self.is_of_the_vocabulary(class)
            && prediction.is_rejected() != Some(true)
            && !is_echo;
        let place = prediction.top.iter().position(|best| best.class == class);
        let interval = place.and_then(|place| prediction.interval(place));
        is_event.then_some(Event { begin: word.begin, end, class, p, interval })
    }

    /// Tells whether a class may be an event: its name is not in angle brackets, as [`OTHER`] is.
    fn is_of_the_vocabulary(&self, class: u32) -> bool {
        let name = self.classifier.model().names().and_then(|names| names.get(class as usize));
        !name.is_some_and(|name| name.starts_with('<'))
    }
}

// The spotter fits the RAM of the smallest parts with a DSP extension.
const _: () = assert!(Spotter::<2048>::RAM <= 48 * 1024);

// The mean of a word's probability over the decisions since it fell silent.

/// The number of classes that are followed.
const FOLLOWED: usize = 8;

/// The sums of the probabilities of a few classes.
#[derive(Clone, Debug)]
pub struct Smoothing {
    decisions: u32,
    sums: Vec<(u32, f32), FOLLOWED>,
}

impl Smoothing {
    pub const fn new() -> Self {
        Self { decisions: 0, sums: Vec::new() }
    }

    pub fn clear(&mut self) {
        self.decisions = 0;
        self.sums.clear();
    }

    pub fn decisions(&self) -> u32 {
        self.decisions
    }

    /// Adds a decision. If the list is full, a new class replaces the one with the smallest sum, provided that sum is
    /// smaller.
    pub fn add<const K: usize>(&mut self, prediction: &Prediction<K>) {
        self.decisions = self.decisions.saturating_add(1);
        for best in &prediction.top {
            if let Some((_, sum)) = self.sums.iter_mut().find(|(class, _)| *class == best.class) {
                *sum += best.p;
            } else if self.sums.push((best.class, best.p)).is_err()
                && let Some(least) = self.sums.iter_mut().min_by(|a, b| a.1.total_cmp(&b.1))
                && least.1 < best.p
            {
                *least = (best.class, best.p);
            }
        }
    }

    /// Returns the class with the highest mean, and the mean.
    pub fn best(&self) -> Option<(u32, f32)> {
        let &(class, sum) = self.sums.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some((class, sum / self.decisions.max(1) as f32))
    }
}

// The threshold of events, and how often it is wrong.

/// The threshold of events, with the error rates measured at it.
///
/// ```
/// # let bytes = zhat::doc_file("models/keywords/encoder.bin");
/// let thresholds = zhat::keywords::Encoder::from_bytes(bytes)?.thresholds();
/// assert!(thresholds.false_accepts <= 1.0 && thresholds.false_rejects <= 1.0);
/// # Ok::<(), zhat::keywords::EncoderError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Thresholds {
    /// The smallest p of an event. A word's p is the mean of a few decisions.
    pub p: f32,
    /// The share of words outside the vocabulary that are recognised as one of it. The share of noises is lower.
    pub false_accepts: f32,
    /// The share of words that are not recognised.
    pub false_rejects: f32,
}

impl Thresholds {
    /// Reads three shares, as they are stored.
    pub(super) fn of(stored: &[f32]) -> Option<Self> {
        let &[p, false_accepts, false_rejects] = stored else { return None };
        let are_shares = stored.iter().all(|share| (0.0..=1.0).contains(share));
        are_shares.then_some(Self { p, false_accepts, false_rejects })
    }
}
