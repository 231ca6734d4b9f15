//! Protocol buffers as they lie in the file: a message is read field by field, and nothing is copied.
//!
//! Only what ONNX files are made of: varints, fixed 32 and 64 bits, and bytes. Every length is checked against the bytes
//! that are there, so a broken or hostile file ends in [`Broken`]. A message within a message is only read where it is
//! asked for: no recursion, and memory is what the reader of the fields keeps.

/// The bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Broken;

/// Bytes that are read as a message.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Message<'a>(pub &'a [u8]);

/// One field of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field<'a> {
    /// Its number.
    pub number: u64,
    /// What it holds.
    pub value: Value<'a>,
    /// Its bytes with the tag, to copy it.
    pub raw: &'a [u8],
}

/// What a field holds, by its wire type. Nothing that is read here has 64 fixed bits.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'a> {
    Varint(u64),
    Fixed64,
    Fixed32([u8; 4]),
    Bytes(&'a [u8]),
}

impl<'a> Message<'a> {
    /// Returns the fields in the order of the file; the first that is broken is the last.
    pub fn fields(self) -> impl Iterator<Item = Result<Field<'a>, Broken>> {
        let mut rest = self.0;
        core::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let start = rest;
            let field = field(&mut rest).map(|(number, value)| {
                let length = start.len() - rest.len();
                Field { number, value, raw: &start[..length] }
            });
            if field.is_err() {
                rest = &[];
            }
            Some(field)
        })
    }

    /// Calls `each` for every field.
    pub fn each<E: From<Broken>>(self, mut each: impl FnMut(Field<'a>) -> Result<(), E>) -> Result<(), E> {
        self.fields().try_for_each(|field| each(field?))
    }
}

impl<'a> Value<'a> {
    /// Bytes, or a message.
    pub fn bytes(self) -> Result<&'a [u8], Broken> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            _ => Err(Broken),
        }
    }

    pub fn message(self) -> Result<Message<'a>, Broken> {
        self.bytes().map(Message)
    }

    pub fn text(self) -> Result<&'a str, Broken> {
        str::from_utf8(self.bytes()?).map_err(|_| Broken)
    }

    pub fn int(self) -> Result<i64, Broken> {
        match self {
            Self::Varint(value) => Ok(value.cast_signed()),
            _ => Err(Broken),
        }
    }

    pub fn float(self) -> Result<f32, Broken> {
        match self {
            Self::Fixed32(bytes) => Ok(f32::from_le_bytes(bytes)),
            _ => Err(Broken),
        }
    }

    /// Calls `each` with the integers of a repeated field: one, or several packed.
    pub fn each_int(self, mut each: impl FnMut(i64)) -> Result<(), Broken> {
        match self {
            Self::Varint(value) => each(value.cast_signed()),
            Self::Bytes(mut packed) => {
                while !packed.is_empty() {
                    each(varint(&mut packed)?.cast_signed());
                }
            }
            _ => return Err(Broken),
        }
        Ok(())
    }
}

fn field<'a>(rest: &mut &'a [u8]) -> Result<(u64, Value<'a>), Broken> {
    let tag = varint(rest)?;
    let value = match tag & 7 {
        0 => Value::Varint(varint(rest)?),
        1 => {
            array::<8>(rest)?;
            Value::Fixed64
        }
        2 => {
            let length = usize::try_from(varint(rest)?).map_err(|_| Broken)?;
            let (bytes, after) = rest.split_at_checked(length).ok_or(Broken)?;
            *rest = after;
            Value::Bytes(bytes)
        }
        5 => Value::Fixed32(array(rest)?),
        _ => return Err(Broken),
    };
    match tag >> 3 {
        0 => Err(Broken),
        number => Ok((number, value)),
    }
}

fn array<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], Broken> {
    let (bytes, after) = rest.split_first_chunk().ok_or(Broken)?;
    *rest = after;
    Ok(*bytes)
}

fn varint(rest: &mut &[u8]) -> Result<u64, Broken> {
    let mut value = 0;
    for (place, &byte) in rest.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            *rest = &rest[place + 1..];
            return Ok(value);
        }
    }
    Err(Broken)
}

/// Appends a field of bytes or of a message.
pub(super) fn put_bytes(out: &mut Vec<u8>, number: u64, bytes: &[u8]) {
    put_varint(out, number << 3 | 2);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends a field that is a number.
pub(super) fn put_int(out: &mut Vec<u8>, number: u64, value: i64) {
    put_varint(out, number << 3);
    put_varint(out, value.cast_unsigned());
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic_and_fields_are_of_the_file(bytes: Vec<u8>) {
            let total: usize = Message(&bytes).fields().map_while(Result::ok).map(|field| field.raw.len()).sum();
            prop_assert!(total <= bytes.len());
        }

        #[test]
        fn what_is_put_is_read(number in 1u64..1 << 28, value: i64, text: String) {
            let mut bytes = Vec::new();
            put_int(&mut bytes, number, value);
            put_bytes(&mut bytes, number + 1, text.as_bytes());
            let fields: Vec<_> = Message(&bytes).fields().map(Result::unwrap).collect();
            prop_assert_eq!((fields[0].number, fields[0].value.int()), (number, Ok(value)));
            prop_assert_eq!((fields[1].number, fields[1].value.text()), (number + 1, Ok(&text[..])));
            prop_assert_eq!(fields.len(), 2);
        }
    }

    #[test]
    fn a_length_past_the_end_is_broken() {
        assert!(Message(&[0x0a, 0x05, 1, 2]).fields().next().unwrap().is_err());
        assert!(Message(&[0xff; 11]).fields().next().unwrap().is_err());
    }
}
