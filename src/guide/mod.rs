//! Pages to read: how to use it, and what was measured.

#[doc = include_str!("paper.md")]
#[doc = include_str!("figure1.svg")]
pub mod paper {}

#[doc = include_str!("own_board.md")]
pub mod own_board {}

#[doc = include_str!("from_your_network.md")]
pub mod from_your_network {}

#[doc = include_str!("json.md")]
pub mod json {}
