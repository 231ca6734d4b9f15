//! Pages to read: how to use it, and what was measured.

#[doc = include_str!("paper.md")]
#[doc = include_str!("figure1-0.5.svg")]
#[doc = include_str!("figure1-0.81.svg")]
pub mod paper {}

#[doc = include_str!("own_board.md")]
pub mod own_board {}

#[doc = include_str!("from_your_network.md")]
pub mod from_your_network {}
