//! The gradients, the fixed point of contrastive estimation, what the readers refuse, what training promises, the program.

mod command;
mod contrast;
mod gradients;
mod input;
mod training;
