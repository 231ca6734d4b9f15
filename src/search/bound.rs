//! How long a search can take: instructions and cycles that no query exceeds, whatever it is, with any memory.
//!
//! A search does a few things over and over: it predicts families of nodes, takes nodes out of the heap, scores leaves, follows
//! links, keeps the best. [`Prices`] say what each takes at most, on a Cortex-M4 with the DSP instructions. How often each can be
//! done within a cap follows from the tree:
//!
//! ```text
//! time ≤ base + what is free at most + most(Σ time of what is opened),  Σ row-equivalents of what is opened ≤ cap − top
//! ```
//!
//! Each node that is opened has a time and costs row-equivalents, so the last term is a knapsack: what fills it is the best time
//! for a row-equivalent, small families and small leaves first. For any price λ of a row-equivalent
//!
//! ```text
//! most(…) ≤ λ·(cap − top) + Σ over families of max(0, time − λ·row-equivalents)
//! ```
//!
//! where a family is taken with those of its leaves that are worth more than λ: no leaf is opened before its family was
//! predicted. The λ for which that is least is found by halving. What cannot be said of a tree is not free: a search pays for it in
//! row-equivalents (see `best_first`), and λ is never below the time that such a payment stands for.

use super::best_first::{FOLLOWS, FREE_HIGH_SCORES, FREE_HIGH_SCORES_SHARE, LINKED, high_score_price, set_aside_price};
use super::counts::Count;
use super::memory::Descent;
use super::seen::seen_words_of;
use super::FAMILY;
use crate::model::{Budget, Model};
use crate::tree::{Span, Tree};
