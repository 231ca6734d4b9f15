//! The keyword spotter from samples to events: features against the definition, and streams of every kind.
#![cfg(feature = "keywords")]

mod keywords {
    pub mod features;
    pub mod reference;
    pub mod sounds;
    pub mod streams;
}
