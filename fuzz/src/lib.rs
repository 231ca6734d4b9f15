//! The common parts of the targets.

use twox_hash::XxHash32;
use zhat::host::input::{ReadOptions, read_everything};
use zhat::model::FORMAT_VERSION;

const MAGIC: [u8; 8] = [0x89, b'Z', b'H', b'A', b'T', b'\r', b'\n', 0x1a];

/// Bytes on a word boundary, as models are.
pub struct Aligned {
    words: Vec<u64>,
    len: usize,
}

impl Aligned {
    /// Makes a model file of these bytes with the right magic, version, length and checksum: otherwise no input would
    /// get past them.
    pub fn model(bytes: &[u8]) -> Self {
        let mut copy = Self { words: vec![0; bytes.len().div_ceil(8)], len: bytes.len() };
        let file = copy.bytes_mut();
        file.copy_from_slice(bytes);
        if file.len() >= 20 {
            let len = file.len() as u32;
            file[..8].copy_from_slice(&MAGIC);
            file[8..10].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
            file[12..16].copy_from_slice(&len.to_le_bytes());
            let checksum = XxHash32::oneshot(0, &file[..16]) ^ XxHash32::oneshot(0, &file[20..]);
            file[16..20].copy_from_slice(&checksum.to_le_bytes());
        }
        copy
    }

    /// Puts erased flash behind these bytes.
    pub fn in_flash(bytes: &[u8]) -> Self {
        let len = bytes.len() + 24;
        let mut copy = Self { words: vec![u64::MAX; len.div_ceil(8)], len };
        copy.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
        copy
    }

    /// Makes an encoder of keywords of these bytes, with the right magic and version.
    pub fn encoder(bytes: &[u8]) -> Self {
        let mut copy = Self { words: vec![0; bytes.len().div_ceil(8)], len: bytes.len() };
        let file = copy.bytes_mut();
        file.copy_from_slice(bytes);
        if let Some(start) = file.first_chunk_mut::<8>() {
            *start = *b"ZKWE\x01\0\0\0";
        }
        copy
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: any word is eight bytes.
        let (_, bytes, _) = unsafe { self.words.align_to_mut::<u8>() };
        &mut bytes[..self.len]
    }

    /// Returns the checksum of the file: a number that any change changes.
    pub fn checksum(&self) -> u32 {
        self.bytes().get(16..20).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes)
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: any word is eight bytes.
        let (_, bytes, _) = unsafe { self.words.align_to::<u8>() };
        &bytes[..self.len]
    }
}

/// Runs every reader of files with this extension: by default, transposed, in part, or with the name of a tensor.
pub fn read(extension: &str, bytes: &[u8]) {
    let whole = ReadOptions::default();
    let options = [
        whole,
        ReadOptions { transpose: true, ..whole },
        ReadOptions { limit: Some(2), ..whole },
        ReadOptions { transpose: true, limit: Some(1), ..whole },
        ReadOptions { tensor: Some("a"), ..whole },
    ];
    // One set of options for each input, so that more inputs are tried.
    let _ = read_everything(extension, bytes, options[bytes.len() % options.len()]);
}
