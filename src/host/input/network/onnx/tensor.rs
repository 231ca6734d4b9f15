//! Tensors of an ONNX file: values in the file itself, in one of its several encodings, or in a file beside it.

use std::borrow::Cow;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path};

use half::{bf16, f16};

use super::graph::name_of;
use crate::host::input::network::array::{Array, Values};
use crate::host::input::network::error::Obstacle;
use crate::host::input::network::protobuf::{Broken, Message, put_bytes};

/// A tensor whose values are still in the file.
#[derive(Clone, Debug, Default)]
pub(in crate::host::input::network) struct Tensor<'a> {
    pub name: &'a str,
    pub shape: Vec<usize>,
    /// The number of its type, as in onnx.proto.
    kind: i64,
    message: Message<'a>,
    raw: Option<&'a [u8]>,
    /// Where the values are, if they are in another file.
    pub external: Option<External<'a>>,
}

/// A part of a file beside the network.
#[derive(Clone, Debug, Default)]
pub(in crate::host::input::network) struct External<'a> {
    pub file: &'a str,
    offset: u64,
    length: Option<u64>,
}

impl<'a> Tensor<'a> {
    pub fn parse(message: Message<'a>) -> Result<Self, Obstacle> {
        let mut tensor = Self { message, ..Self::default() };
        let (mut outside, mut external) = (false, External::default());
        let mut negative = false;
        message.each::<Broken>(|field| {
            match field.number {
                1 => field.value.each_int(|length| match usize::try_from(length) {
                    Ok(length) => tensor.shape.push(length),
                    Err(_) => negative = true,
                })?,
                2 => tensor.kind = field.value.int()?,
                8 => tensor.name = field.value.text()?,
                9 => tensor.raw = Some(field.value.bytes()?),
                13 => external.entry(field.value.message()?)?,
                14 => outside = field.value.int()? == 1,
                _ => {}
            }
            Ok(())
        })?;
        if negative {
            return Err(Broken.into());
        }
        tensor.external = outside.then_some(external);
        Ok(tensor)
    }

    /// Returns the values; `folder` is that of the network.
    pub fn read(&self, folder: &Path) -> Result<Array, Obstacle> {
        let count = self.count()?;
        let bytes = match &self.external {
            Some(_) => Some(Cow::Owned(self.outside(folder)?)),
            None => self.raw.map(Cow::Borrowed),
        };
        let values = match bytes {
            Some(bytes) => self.decode(&bytes)?,
            None => self.listed()?,
        };
        match values.len() == count {
            true => Ok(Array::new(self.shape.clone(), values)),
            false => Err(self.malformed(&format!("has {} values of {count}", values.len()))),
        }
    }

    /// Returns the bytes of values that are in another file.
    pub fn outside(&self, folder: &Path) -> Result<Vec<u8>, Obstacle> {
        let Some(external) = &self.external else { return Ok(Vec::new()) };
        let fail = |why: String| Obstacle::External { tensor: self.name.into(), file: external.file.into(), why };
        let path = Path::new(external.file);
        // A network may come from anywhere: it may only name files of its own folder.
        if external.file.is_empty() || !path.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(fail("not a file in the network's folder".into()));
        }
        let expected = (self.count()? as u64).saturating_mul(self.size()? as u64);
        if external.length.is_some_and(|length| length != expected) {
            return Err(fail(format!("the network says {} bytes, expected {expected}", external.length.unwrap_or(0))));
        }
        let mut bytes = Vec::new();
        let read = File::open(folder.join(path)).and_then(|mut file| {
            file.seek(SeekFrom::Start(external.offset))?;
            file.take(expected).read_to_end(&mut bytes)
        });
        match read {
            Ok(found) if found as u64 == expected => Ok(bytes),
            Ok(found) => Err(fail(format!("ends early: expected {expected} bytes, found {found}"))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(fail("no such file".into())),
            Err(error) => Err(fail(error.to_string())),
        }
    }

    /// Returns the tensor's message with the values of another file in it.
    pub fn taken_in(&self, folder: &Path) -> Result<Vec<u8>, Obstacle> {
        let bytes = self.outside(folder)?;
        let mut message = Vec::with_capacity(bytes.len() + 64);
        self.message.each::<Broken>(|field| {
            if !matches!(field.number, 9 | 13 | 14) {
                message.extend_from_slice(field.raw);
            }
            Ok(())
        })?;
        put_bytes(&mut message, 9, &bytes);
        Ok(message)
    }

    /// Returns whether its values are signed bytes.
    pub fn is_i8(&self) -> bool {
        self.kind == 3
    }

    /// Returns whether it is one boolean that is false.
    pub fn is_false(&self) -> bool {
        let is_false = |values| matches!(values, Ok(Values::Int(values)) if values == [0]);
        self.kind == 9
            && self.external.is_none()
            && is_false(self.raw.map_or_else(|| self.listed(), |raw| self.decode(raw)))
    }

    /// Returns the number of its type.
    pub fn kind(&self) -> i64 {
        self.kind
    }

    /// Returns the values of a short list of integers in the file itself: axes, lengths, indices.
    pub fn integers(&self) -> Option<Vec<i64>> {
        /// Indices of classes can be many; nothing here is longer.
        const MOST: usize = 1 << 20;
        let count = self.count().ok().filter(|&count| count <= MOST && self.external.is_none())?;
        let list: Vec<i64> = match (self.raw, self.kind) {
            (Some(raw), 7) => raw.as_chunks().0.iter().map(|&bytes| i64::from_le_bytes(bytes)).collect(),
            (Some(raw), 6) => raw.as_chunks().0.iter().map(|&bytes| i32::from_le_bytes(bytes).into()).collect(),
            (None, 6 | 7) => {
                let mut list = Vec::new();
                let read = self.message.each::<Broken>(|field| match field.number {
                    5 | 7 => field.value.each_int(|int| list.push(int)),
                    _ => Ok(()),
                });
                read.ok().map(|()| list)?
            }
            _ => return None,
        };
        (list.len() == count).then_some(list)
    }

    fn count(&self) -> Result<usize, Obstacle> {
        let count = self.shape.iter().try_fold(1usize, |count, &length| count.checked_mul(length));
        count.ok_or_else(|| self.malformed("has an impossible shape"))
    }

    /// Bytes of a value.
    fn size(&self) -> Result<usize, Obstacle> {
        match self.kind {
            2 | 3 | 9 => Ok(1),
            4 | 5 | 10 | 16 => Ok(2),
            1 | 6 | 12 => Ok(4),
            7 | 11 => Ok(8),
            other => Err(self.malformed(&format!("is of type {other}, which is not read"))),
        }
    }

    fn decode(&self, bytes: &[u8]) -> Result<Values, Obstacle> {
        fn each<const SIZE: usize, T>(bytes: &[u8], convert: impl Fn([u8; SIZE]) -> T) -> Vec<T> {
            bytes.as_chunks().0.iter().map(|&chunk| convert(chunk)).collect()
        }
        self.size()?;
        Ok(match self.kind {
            1 => Values::Float(each(bytes, f32::from_le_bytes)),
            10 => Values::Float(each(bytes, |b| f16::from_le_bytes(b).to_f32())),
            16 => Values::Float(each(bytes, |b| bf16::from_le_bytes(b).to_f32())),
            11 => Values::Float(each(bytes, |b| f64::from_le_bytes(b) as f32)),
            2 | 9 => Values::Int(each(bytes, |b: [u8; 1]| i32::from(b[0]))),
            3 => Values::Int(each(bytes, |b| i32::from(i8::from_le_bytes(b)))),
            4 => Values::Int(each(bytes, |b| i32::from(u16::from_le_bytes(b)))),
            5 => Values::Int(each(bytes, |b| i32::from(i16::from_le_bytes(b)))),
            12 => self.narrow(bytes.as_chunks().0.iter().map(|&b| u32::from_le_bytes(b).into()))?,
            7 => self.narrow(bytes.as_chunks().0.iter().map(|&b| i64::from_le_bytes(b)))?,
            _ => Values::Int(each(bytes, i32::from_le_bytes)),
        })
    }

    /// Returns values as a list of numbers: the format's other encoding.
    fn listed(&self) -> Result<Values, Obstacle> {
        let (mut floats, mut ints) = (Vec::new(), Vec::new());
        self.size()?;
        self.message.each::<Broken>(|field| {
            match (field.number, field.value) {
                (4, value) => match value.float() {
                    Ok(float) => floats.push(float),
                    Err(_) => floats.extend(value.bytes()?.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b))),
                },
                (10, value) => {
                    floats.extend(value.bytes()?.as_chunks().0.iter().map(|&b| f64::from_le_bytes(b) as f32));
                }
                (5 | 7 | 11, value) => value.each_int(|int| ints.push(int))?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(match self.kind {
            1 | 11 => Values::Float(floats),
            // Bits of 16-bit floats are listed as integers.
            10 => Values::Float(ints.iter().map(|&bits| f16::from_bits(bits as u16).to_f32()).collect()),
            16 => Values::Float(ints.iter().map(|&bits| bf16::from_bits(bits as u16).to_f32()).collect()),
            _ => self.narrow(ints.into_iter())?,
        })
    }

    fn narrow(&self, ints: impl Iterator<Item = i64>) -> Result<Values, Obstacle> {
        let ints: Option<Vec<i32>> = ints.map(|int| i32::try_from(int).ok()).collect();
        ints.map(Values::Int).ok_or_else(|| self.malformed("holds integers of more than 32 bits"))
    }

    fn malformed(&self, what: &str) -> Obstacle {
        Obstacle::Malformed(format!("the tensor \"{}\" {what}", self.name))
    }
}

impl<'a> External<'a> {
    fn entry(&mut self, entry: Message<'a>) -> Result<(), Broken> {
        let (key, mut value) = (name_of(entry)?, "");
        entry.each::<Broken>(|field| {
            if field.number == 2 {
                value = field.value.text()?;
            }
            Ok(())
        })?;
        match key {
            "location" => self.file = value,
            "offset" => self.offset = value.parse().map_err(|_| Broken)?,
            "length" => self.length = Some(value.parse().map_err(|_| Broken)?),
            _ => {}
        }
        Ok(())
    }
}
