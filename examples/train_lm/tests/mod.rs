//! Tests of the gradients, the fixed point of contrastive estimation, the readers, training, and the program.

mod command;
mod contrast;
mod gradients;
mod input;
mod training;
