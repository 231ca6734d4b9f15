//! FlatBuffers as they lie in the file: tables, vectors and strings are found by offsets, each of which is checked.
//!
//! Whatever points out of the file is not there: reading it gives `None`. Nothing is copied, and nothing is followed
//! that is not asked for.

/// A table: where it stands, and where the offsets of its fields stand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table<'a> {
    bytes: &'a [u8],
    at: usize,
    offsets: &'a [u8],
}

/// A vector of elements of `SIZE` bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vector<'a, const SIZE: usize> {
    bytes: &'a [u8],
    at: usize,
    elements: &'a [[u8; SIZE]],
}

impl<'a> Table<'a> {
    /// Returns the table that a file starts with.
    pub fn root(bytes: &'a [u8]) -> Option<Self> {
        Self::at(bytes, 0)
    }

    /// Returns the table that the offset at `place` leads to.
    fn at(bytes: &'a [u8], place: usize) -> Option<Self> {
        let at = place.checked_add(u32_at(bytes, place)? as usize)?;
        // Its first field leads back to the offsets of the others.
        let back = u32_at(bytes, at)?.cast_signed();
        let offsets = i64::try_from(at).ok()? - i64::from(back);
        let offsets = bytes.get(usize::try_from(offsets).ok()?..)?;
        let length = usize::from(u16::from_le_bytes(*offsets.first_chunk()?));
        Some(Self { bytes, at, offsets: offsets.get(4..length)? })
    }

    /// Returns the place of a field, if it is there.
    fn field(&self, number: usize) -> Option<usize> {
        let offset = u16::from_le_bytes(*self.offsets.get(2 * number..)?.first_chunk()?);
        (offset != 0).then(|| self.at.checked_add(offset.into()))?
    }

    pub fn table(&self, number: usize) -> Option<Self> {
        Self::at(self.bytes, self.field(number)?)
    }

    pub fn vector<const SIZE: usize>(&self, number: usize) -> Option<Vector<'a, SIZE>> {
        let field = self.field(number)?;
        let at = field.checked_add(u32_at(self.bytes, field)? as usize)?;
        let length = u32_at(self.bytes, at)? as usize;
        let start = at.checked_add(4)?;
        let end = length.checked_mul(SIZE)?.checked_add(start)?;
        Some(Vector { bytes: self.bytes, at: start, elements: self.bytes.get(start..end)?.as_chunks().0 })
    }

    pub fn text(&self, number: usize) -> Option<&'a str> {
        str::from_utf8(self.vector::<1>(number)?.elements.as_flattened()).ok()
    }

    pub fn u8(&self, number: usize) -> Option<u8> {
        self.bytes.get(self.field(number)?).copied()
    }

    pub fn f32(&self, number: usize) -> Option<f32> {
        self.u32(number).map(f32::from_bits)
    }

    pub fn u32(&self, number: usize) -> Option<u32> {
        u32_at(self.bytes, self.field(number)?)
    }
}

impl<'a> Vector<'a, 1> {
    pub fn bytes(&self) -> &'a [u8] {
        self.elements.as_flattened()
    }
}

impl<'a> Vector<'a, 4> {
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    pub fn ints(&self) -> impl Iterator<Item = i32> + 'a {
        self.elements.iter().map(|&bytes| i32::from_le_bytes(bytes))
    }

    pub fn floats(&self) -> impl Iterator<Item = f32> + 'a {
        self.elements.iter().map(|&bytes| f32::from_le_bytes(bytes))
    }

    /// Element `index` of a vector of tables.
    pub fn table(&self, index: usize) -> Option<Table<'a>> {
        self.elements.get(index)?;
        Table::at(self.bytes, self.at.checked_add(4 * index)?)
    }
}

impl<'a> Vector<'a, 8> {
    pub fn longs(&self) -> impl Iterator<Item = i64> + 'a {
        self.elements.iter().map(|&bytes| i64::from_le_bytes(bytes))
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
