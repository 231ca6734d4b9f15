//! Axes of a value behind the layer: where its classes are, and what the other axes count.
//!
//! A value that comes from the layer has one axis of classes, or one that was reduced over the classes. Every other axis
//! counts queries. What can't be followed for certain is an error, with the reason as a sentence without its subject.

/// The length of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Dim {
    Known(usize),
    /// Not known before the network runs; equal symbols are equal lengths.
    Symbol(u32),
}

/// What an axis counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Label {
    Class,
    /// The classes were reduced to one number.
    Reduced,
    /// An axis of length one that was put in.
    One,
    /// Queries: the number says which axis of the layer's scores, or which part of them after a reshape.
    Part(u32),
}

#[derive(Clone, Copy, Debug)]
struct Axis {
    label: Label,
    dim: Dim,
}

/// The axes of a value.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// `None` if the number of axes is not known: then the classes are on the last one.
    axes: Option<Vec<Axis>>,
    /// For an unknown number of axes: the last one was reduced.
    reduced: bool,
    /// The order in which the layer's axes of queries are passed through, if it can be told; before any reshape it is
    /// that of the labels.
    order: Option<Vec<u32>>,
    reshaped: bool,
}

/// How a constant lies beside a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Along {
    /// One number for everything.
    All,
    /// One number for each class.
    Classes,
}

/// An entry of the shape that a reshape asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Length(Dim),
    /// What is left.
    Rest,
    Unknown,
}

type Followed<T> = Result<T, String>;

impl Layout {
    /// Returns the layer's scores, with classes on this axis.
    pub fn new(dims: &[Dim], class: usize) -> Self {
        let mut part = 0;
        let label = |axis: usize| {
            if axis == class {
                return Label::Class;
            }
            part += 1;
            Label::Part(part - 1)
        };
        let labels: Vec<Label> = (0..dims.len()).map(label).collect();
        let axes = labels.into_iter().zip(dims).map(|(label, &dim)| Axis { label, dim }).collect();
        Self { axes: Some(axes), reduced: false, order: None, reshaped: false }
    }

    /// Scores of an unknown number of axes, with classes on the last one.
    pub fn last() -> Self {
        Self { axes: None, reduced: false, order: None, reshaped: false }
    }

    pub fn rank(&self) -> Option<usize> {
        self.axes.as_ref().map(Vec::len)
    }

    /// Returns the axis of the classes, counted from the end: 0 is the last one.
    pub fn class_from_end(&self) -> Option<usize> {
        match &self.axes {
            None => (!self.reduced).then_some(0),
            Some(axes) => axes.iter().rev().position(|axis| axis.label == Label::Class),
        }
    }

    /// Returns the order in which the axes of queries are passed through, as numbers of the scores' own; `None` if it can't be told.
    pub fn order(&self) -> Option<Vec<u32>> {
        let Some(axes) = &self.axes else { return Some(Vec::new()) };
        let parts = parts(axes);
        match (self.reshaped, parts.is_sorted()) {
            (true, true) => self.order.clone(),
            (true, false) => None,
            (false, _) => Some(parts),
        }
    }

    fn known(&self) -> Followed<&[Axis]> {
        let unknown = "works on axes by number, and the file does not say how many there are (onnx.shape_inference.infer_shapes adds that)";
        self.axes.as_deref().ok_or_else(|| unknown.into())
    }

    fn with(&self, axes: Vec<Axis>) -> Self {
        Self { axes: Some(axes), ..self.clone() }
    }

    /// Checks that an operator on these axes works on the classes and on nothing else; `does` says what it does, as in
    /// "is a softmax over".
    pub fn expect_classes(&self, range: &[i64], does: &str) -> Followed<()> {
        let Some(axes) = &self.axes else {
            return match range {
                [-1] => Ok(()),
                _ => self.known().map(|_| ()),
            };
        };
        let mut found = false;
        for &axis in range {
            let index = index(axis, axes.len())?;
            match axes[index] {
                Axis { label: Label::Class, .. } => found = true,
                Axis { dim: Dim::Known(1), .. } => {}
                _ if range.len() > 1 => {
                    return Err(format!("{does} several axes together, not the classes alone"));
                }
                _ => {
                    let class = axes.iter().position(|axis| axis.label == Label::Class);
                    let class = class.map_or("no axis".into(), |class| format!("axis {class}"));
                    return Err(format!("{does} axis {index}, but the layer's classes are on {class}"));
                }
            }
        }
        if found { Ok(()) } else { Err(format!("{does} other axes than that of the layer's classes")) }
    }

    /// Returns all axes from this one on, as old versions of softmax take them together.
    pub fn axes_from(&self, axis: i64) -> Followed<Vec<i64>> {
        match (&self.axes, axis) {
            (None, -1) => Ok(vec![-1]),
            _ => {
                let rank = self.known()?.len();
                Ok((index(axis, rank)? as i64..rank as i64).collect())
            }
        }
    }

    /// Reduces over axes that are the classes, or of length one.
    pub fn reduced(&self, range: &[i64], keep: bool) -> Followed<Self> {
        let Some(axes) = &self.axes else {
            return match (range, keep) {
                ([-1], true) => Ok(Self { reduced: true, ..self.clone() }),
                _ => self.known().map(|_| self.clone()),
            };
        };
        let gone = range.iter().map(|&axis| index(axis, axes.len())).collect::<Followed<Vec<_>>>()?;
        let mut left = Vec::new();
        for (at, &axis) in axes.iter().enumerate() {
            match (gone.contains(&at), keep) {
                (false, _) => left.push(axis),
                (true, true) if axis.label == Label::Class => {
                    left.push(Axis { label: Label::Reduced, dim: Dim::Known(1) })
                }
                (true, true) => left.push(axis),
                (true, false) => {}
            }
        }
        Ok(self.with(left))
    }

    /// Returns how a constant of this shape lies beside a value; the value may get more axes of length one in front. `classes` is
    /// how many there are.
    pub fn beside(&self, shape: &[usize], classes: usize) -> Followed<(Self, Along)> {
        let class = self.class_from_end();
        let mut along = Along::All;
        for (from_end, &length) in shape.iter().rev().enumerate() {
            match length {
                1 => {}
                _ if Some(from_end) == class && length == classes => along = Along::Classes,
                _ => return Err("takes a constant with values for something other than the classes".into()),
            }
        }
        let mut grown = self.clone();
        if let Some(axes) = &mut grown.axes {
            while axes.len() < shape.len() {
                axes.insert(0, Axis { label: Label::One, dim: Dim::Known(1) });
            }
        }
        Ok((grown, along))
    }

    /// Returns whether two values of the layer lie alike: axis for axis the same queries, with classes or reduced.
    pub fn fits(&self, other: &Self) -> bool {
        let (Some(a), Some(b)) = (&self.axes, &other.axes) else { return self.axes.is_none() && other.axes.is_none() };
        let alike = |(a, b): (&Axis, &Axis)| {
            let of_class = |axis: &Axis| matches!(axis.label, Label::Class | Label::Reduced);
            a.label == b.label || of_class(a) && of_class(b)
        };
        a.len() == b.len() && a.iter().zip(b).all(alike)
    }

    pub fn transposed(&self, perm: Option<&[i64]>) -> Followed<Self> {
        let axes = self.known()?;
        let moved = match perm {
            None => axes.iter().rev().copied().collect(),
            Some(perm) if perm.len() == axes.len() => {
                let found = perm.iter().map(|&from| index(from, axes.len()).map(|from| axes[from]));
                found.collect::<Followed<Vec<_>>>()?
            }
            Some(_) => return Err("has another number of axes than its input".into()),
        };
        Ok(self.with(moved))
    }

    pub fn unsqueezed(&self, range: &[i64]) -> Followed<Self> {
        let axes = self.known()?;
        let rank = axes.len() + range.len();
        let new = range.iter().map(|&axis| index(axis, rank)).collect::<Followed<Vec<_>>>()?;
        let mut old = axes.iter().copied();
        // A class axis that was reduced and squeezed away comes back as one of length one: which one it is, its place says.
        let one = Axis { label: Label::One, dim: Dim::Known(1) };
        let all: Option<Vec<Axis>> =
            (0..rank).map(|at| if new.contains(&at) { Some(one) } else { old.next() }).collect();
        all.map(|axes| self.with(axes)).ok_or_else(|| "puts in an axis twice".into())
    }

    pub fn squeezed(&self, range: Option<&[i64]>) -> Followed<Self> {
        let axes = self.known()?;
        let gone = match range {
            Some(range) => range.iter().map(|&axis| index(axis, axes.len())).collect::<Followed<Vec<_>>>()?,
            None => {
                if axes.iter().any(|axis| matches!(axis.dim, Dim::Symbol(_))) {
                    return Err("takes out every axis of length one, and the file does not say which these are".into());
                }
                (0..axes.len()).filter(|&at| axes[at].dim == Dim::Known(1)).collect()
            }
        };
        if gone.iter().any(|&at| axes[at].label == Label::Class) {
            return Err("takes out the axis of the classes".into());
        }
        let left = axes.iter().enumerate().filter(|(at, _)| !gone.contains(at)).map(|(_, &axis)| axis);
        Ok(self.with(left.collect()))
    }

    /// Marks an axis of length one at the place where another value has its classes: for sums that lost it and got it back.
    pub fn like(&self, other: &Self) -> Self {
        let mut marked = self.clone();
        if let (Some(axes), Some(model)) = (&mut marked.axes, &other.axes)
            && axes.len() == model.len()
        {
            for (axis, model) in axes.iter_mut().zip(model) {
                if model.label == Label::Class && axis.label == Label::One {
                    axis.label = Label::Reduced;
                }
            }
        }
        marked
    }

    /// Gives the value another shape, if the classes surely stay together on one axis.
    pub fn reshaped(&self, entries: &[Entry], classes: usize) -> Followed<Self> {
        let Some(axes) = &self.axes else {
            // The classes are on the last axis: they stay there whatever is before them.
            return match entries.last() {
                Some(Entry::Length(Dim::Known(length))) if *length == classes => {
                    let part = |(at, entry): (usize, &Entry)| Axis { label: Label::Part(at as u32), dim: dim(entry) };
                    let mut axes: Vec<Axis> = entries.iter().enumerate().map(part).collect();
                    if let Some(last) = axes.last_mut() {
                        *last = Axis { label: Label::Class, dim: Dim::Known(classes) };
                    }
                    Ok(Self { axes: Some(axes), reduced: false, order: Some(Vec::new()), reshaped: true })
                }
                _ => self.known().map(|_| self.clone()),
            };
        };
        let class =
            axes.iter().position(|axis| axis.label == Label::Class).ok_or("changes the shape of a sum or maximum")?;
        let dims: Vec<Entry> = axes.iter().map(|axis| Entry::Length(axis.dim)).collect();
        let keeps = |&at: &usize| {
            let front = is_same_product(&dims[..class], &entries[..at]);
            let behind = is_same_product(&dims[class + 1..], &entries[at + 1..]);
            let length = entries[at] == Entry::Length(Dim::Known(classes));
            front && behind || length && (front || behind)
        };
        let Some(at) = (0..entries.len()).find(keeps) else { return Err(torn(axes, class, entries, classes)) };
        let order = self.order();
        let mut part = 0;
        let label = |(index, entry): (usize, &Entry)| {
            if index == at {
                return Axis { label: Label::Class, dim: Dim::Known(classes) };
            }
            part += 1;
            Axis { label: Label::Part(part - 1), dim: dim(entry) }
        };
        let axes = entries.iter().enumerate().map(label).collect();
        Ok(Self { axes: Some(axes), reduced: false, order, reshaped: true })
    }

    /// Returns the lengths, for an operator that asks for them.
    pub fn dims(&self) -> Option<Vec<Dim>> {
        self.axes.as_ref().map(|axes| axes.iter().map(|axis| axis.dim).collect())
    }

    /// Returns the same axes with another number of classes.
    pub fn with_classes(&self, classes: usize) -> Self {
        let mut layout = self.clone();
        for axis in layout.axes.iter_mut().flatten().filter(|axis| axis.label == Label::Class) {
            axis.dim = Dim::Known(classes);
        }
        layout
    }
}

/// Returns the length of several axes together, where only one of them is not one, or all are known.
pub(super) fn joined(dims: &[Dim]) -> Entry {
    let known = dims.iter().try_fold(1usize, |product, dim| match dim {
        Dim::Known(length) => product.checked_mul(*length),
        Dim::Symbol(_) => None,
    });
    let mut others = dims.iter().filter(|dim| **dim != Dim::Known(1));
    match (known, others.next(), others.next()) {
        (Some(product), _, _) => Entry::Length(Dim::Known(product)),
        (None, Some(only), None) => Entry::Length(*only),
        _ => Entry::Rest,
    }
}

/// Returns an axis, counted from the end if it is negative.
fn index(axis: i64, rank: usize) -> Followed<usize> {
    let from_end = if axis < 0 { axis + rank as i64 } else { axis };
    usize::try_from(from_end).ok().filter(|&axis| axis < rank).ok_or_else(|| format!("names axis {axis} of {rank}"))
}

fn parts(axes: &[Axis]) -> Vec<u32> {
    let part = |axis: &Axis| match axis.label {
        Label::Part(part) => Some(part),
        _ => None,
    };
    axes.iter().filter_map(part).collect()
}

fn dim(entry: &Entry) -> Dim {
    match *entry {
        Entry::Length(dim) => dim,
        // Never equal to a symbol of the network.
        Entry::Rest | Entry::Unknown => Dim::Symbol(u32::MAX),
    }
}

/// Returns whether two lists of lengths surely have the same product.
fn is_same_product(a: &[Entry], b: &[Entry]) -> bool {
    fn factors(entries: &[Entry]) -> Option<(u128, Vec<u32>)> {
        let (mut product, mut symbols) = (1u128, Vec::new());
        for entry in entries {
            match *entry {
                Entry::Length(Dim::Known(length)) => product = product.checked_mul(length as u128)?,
                Entry::Length(Dim::Symbol(symbol)) if symbol != u32::MAX => symbols.push(symbol),
                _ => return None,
            }
        }
        symbols.sort_unstable();
        Some((product, symbols))
    }
    matches!((factors(a), factors(b)), (Some(a), Some(b)) if a == b)
}

/// Says why a reshape does not keep the classes together.
fn torn(axes: &[Axis], class: usize, entries: &[Entry], classes: usize) -> String {
    let cut = |entry: &Entry| {
        matches!(entry, Entry::Length(Dim::Known(length))
            if *length > 1 && *length < classes && classes.is_multiple_of(*length))
    };
    if class + 1 == axes.len() && entries.last().is_some_and(cut) {
        return format!(
            "cuts the layer's {classes} outputs into several groups, with a softmax for each (as for captchas and number \
             plates); zhat answers with one softmax over all of them: save the rows of each group as weights of their own, and build \
             one model a group (--weights)"
        );
    }
    "does not surely keep the classes together on an axis of their own: it puts them on one axis with steps or places, or its \
     shape is not known (onnx.shape_inference.infer_shapes may tell)"
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLASSES: usize = 40;

    fn sequence() -> Layout {
        Layout::new(&[Dim::Symbol(0), Dim::Symbol(1), Dim::Known(CLASSES)], 2)
    }

    fn known(length: usize) -> Entry {
        Entry::Length(Dim::Known(length))
    }

    #[test]
    fn a_reshape_keeps_classes_that_stay_last() {
        let flat = sequence().reshaped(&[Entry::Rest, known(CLASSES)], CLASSES).unwrap();
        assert_eq!((flat.rank(), flat.class_from_end(), flat.order()), (Some(2), Some(0), Some(vec![0, 1])));
    }

    #[test]
    fn a_reshape_that_joins_or_cuts_classes_is_refused() {
        let batch = Entry::Length(Dim::Symbol(0));
        assert!(sequence().reshaped(&[batch, Entry::Rest], CLASSES).is_err());
        let groups = sequence().reshaped(&[Entry::Rest, known(4), known(10)], CLASSES).unwrap_err();
        assert!(groups.contains("several groups"), "{groups}");
    }

    #[test]
    fn classes_of_an_image_are_followed_through_a_flattening_of_places() {
        let dims = [Dim::Symbol(0), Dim::Known(CLASSES), Dim::Symbol(1), Dim::Symbol(2)];
        let image = Layout::new(&dims, 1);
        let batch = Entry::Length(Dim::Symbol(0));
        let flat = image.reshaped(&[batch, known(CLASSES), Entry::Rest], CLASSES).unwrap();
        assert_eq!(flat.class_from_end(), Some(1));
        assert!(image.reshaped(&[batch, Entry::Rest], CLASSES).is_err());
        let points = Layout::new(&[Dim::Symbol(0), Dim::Known(CLASSES), Dim::Known(1), Dim::Known(1)], 1);
        assert_eq!(points.reshaped(&[batch, Entry::Rest], CLASSES).unwrap().class_from_end(), Some(0));
    }

    #[test]
    fn the_order_of_queries_is_followed_through_a_transposition() {
        let turned = sequence().transposed(Some(&[1, 0, 2])).unwrap();
        assert_eq!(turned.order(), Some(vec![1, 0]));
        let flat = turned.reshaped(&[Entry::Rest, known(CLASSES)], CLASSES).unwrap();
        assert_eq!(flat.order(), Some(vec![1, 0]));
    }

    #[test]
    fn a_constant_is_along_the_classes_only_where_the_classes_are() {
        let image = Layout::new(&[Dim::Symbol(0), Dim::Known(CLASSES), Dim::Symbol(1)], 1);
        assert!(image.beside(&[CLASSES], CLASSES).is_err());
        assert_eq!(image.beside(&[CLASSES, 1], CLASSES).unwrap().1, Along::Classes);
        assert_eq!(image.beside(&[1, 1], CLASSES).unwrap().1, Along::All);
    }

    #[test]
    fn a_softmax_over_another_axis_is_found() {
        let over = |axes: &[i64]| sequence().expect_classes(axes, "is a softmax over");
        assert!(over(&[-1]).is_ok() && over(&[2]).is_ok());
        assert_eq!(over(&[1]).unwrap_err(), "is a softmax over axis 1, but the layer's classes are on axis 2");
        let joint = sequence().axes_from(1).unwrap();
        assert!(over(&joint).unwrap_err().contains("several axes together"));
    }
}
