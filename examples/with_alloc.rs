//! Uses a model that is not in flash: its bytes arrive at run time (here they come from flash all the same) and are
//! kept on a small heap.
#![cfg_attr(target_os = "none", no_std, no_main)]

extern crate alloc;

mod support;

use alloc::vec::Vec;
use support::{entry, figure, instructions_of, say};
use zhat::model::ModelBuf;
use zhat::{Classifier, Error, Model, QueryBuffer, Scratch, scratch_words};

static FILE: &[u8] = include_bytes!("../tests/data/maclaurin.zhat");
const QUERY: [f32; 12] = [0.5, -1.0, 0.75, 0.25, -0.5, 1.0, -0.25, 0.0, 0.5, -0.75, 1.0, 0.25];

#[cfg(target_os = "none")]
mod heap {
    use embedded_alloc::LlffHeap;

    /// The size for the file, an aligned copy of it, and the bookkeeping.
    const SIZE: usize = 32 * 1024;

    #[global_allocator]
    static HEAP: LlffHeap = LlffHeap::empty();

    pub fn start() {
        #[allow(unsafe_code)]
        // SAFETY: called once, before the first allocation; nothing else uses the memory.
        unsafe {
            embedded_alloc::init!(HEAP, SIZE);
        }
    }

    pub fn used() -> Option<usize> {
        Some(HEAP.used())
    }
}

#[cfg(not(target_os = "none"))]
mod heap {
    pub fn start() {}

    pub fn used() -> Option<usize> {
        None
    }
}

entry!(run);

fn run() -> Result<(), Error> {
    heap::start();
    // In pieces and not aligned, as a radio or a file system would deliver them.
    let mut received = Vec::new();
    FILE.chunks(512).for_each(|piece| received.extend_from_slice(piece));
    let file = ModelBuf::from_bytes(&received)?;
    drop(received);
    if let Some(used) = heap::used() {
        figure!("{used} bytes of heap for a file of {}", file.len());
    }
    let (model, instructions) = instructions_of(|| file.model());
    if let (Some(view), Some(opened)) = (instructions, instructions_of(|| Model::from_bytes_trusted(&file)).1) {
        figure!("{view} instructions for a view of the model, {opened} to open it without its checks");
    }
    let classifier = Classifier::new(model)?;
    let query = QueryBuffer::<12>::new(&model, &QUERY)?;
    let answer = classifier.classify::<3>(&query, &mut Scratch::<{ scratch_words(300, 256) }>::new())?;
    for best in &answer.top {
        say!("class {}: p {:.4}", best.class, best.p);
    }
    Ok(())
}
