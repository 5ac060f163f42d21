//! The origin of a value's elements in another value: Transpose, Slice, Pad, Gather, Tile and
//! Expand are described axis by axis, alike for constants and for encrypted values.

/// An axis of the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The axis of the source; `None` for a new one, along which the source repeats.
    pub source: Option<usize>,
    /// The origin of its places.
    pub from: From,
}

/// The origin of the places of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum From {
    /// The whole axis of the source in its order.
    Whole,
    /// The places of the source, in this order; nothing of the source where there is `None`.
    Places(Vec<Option<usize>>),
    /// The first place, so many times.
    First(usize),
}

/// An arrangement: the axes of the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrangement(pub Vec<Axis>);

impl Axis {
    /// An axis of the source as it is.
    pub fn whole(source: usize) -> Self {
        Self { source: Some(source), from: From::Whole }
    }

    /// Places on an axis of the source of this length.
    pub fn places(source: usize, length: usize, places: Vec<Option<usize>>) -> Self {
        let whole = places.len() == length && places.iter().enumerate().all(|(at, &from)| from == Some(at));
        let from = if whole { From::Whole } else { From::Places(places) };
        Self { source: Some(source), from }
    }

    /// A new axis of so many places.
    pub fn repeated(length: usize) -> Self {
        Self { source: None, from: From::First(length) }
    }

    fn length(&self, source: &[usize]) -> usize {
        match (&self.from, self.source) {
            (From::Places(places), _) => places.len(),
            (From::First(length), _) => *length,
            (From::Whole, Some(axis)) => source[axis],
            (From::Whole, None) => 1,
        }
    }
}

impl Arrangement {
    /// All axes as they are.
    pub fn identity(axes: usize) -> Self {
        Self((0..axes).map(Axis::whole).collect())
    }

    /// The dimensions of the result.
    pub fn dims(&self, source: &[usize]) -> Vec<usize> {
        self.0.iter().map(|axis| axis.length(source)).collect()
    }

    /// The place in the source of every element of the result.
    pub fn places(&self, source: &[usize]) -> Vec<Option<usize>> {
        let stride = |axis: usize| source[axis + 1..].iter().product::<usize>();
        let mut found = vec![Some(0usize)];
        for axis in &self.0 {
            let stride = axis.source.map_or(0, stride);
            let length = axis.length(source);
            let step = |at: usize| match &axis.from {
                From::Whole => Some(at * stride),
                From::First(_) => Some(0),
                From::Places(places) => places[at].map(|place| place * stride),
            };
            found = found
                .iter()
                .flat_map(|&before| (0..length).map(move |at| Some(before? + step(at)?)))
                .collect();
        }
        found
    }

    /// This arrangement without its first axis, if that is the first axis of the source as it is,
    /// from which no other axis takes: the arrangement within each example of a batch.
    pub fn within_examples(&self) -> Option<Self> {
        let (first, rest) = self.0.split_first()?;
        let keeps = *first == Axis::whole(0) && rest.iter().all(|axis| axis.source != Some(0));
        let inner =
            |axis: &Axis| Axis { source: axis.source.map(|source| source - 1), from: axis.from.clone() };
        keeps.then(|| Self(rest.iter().map(inner).collect()))
    }
}

/// The dimensions that two values repeat to, and where each of their elements comes from, by
/// ONNX's rules of broadcasting; `None` if they do not fit.
pub fn broadcast(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let axes = a.len().max(b.len());
    let at = |dims: &[usize], axis: usize| (axis + dims.len()).checked_sub(axes).map_or(1, |axis| dims[axis]);
    (0..axes)
        .map(|axis| match (at(a, axis), at(b, axis)) {
            (x, y) if x == y => Some(x),
            (1, y) => Some(y),
            (x, 1) => Some(x),
            _ => None,
        })
        .collect()
}

/// A value of dimensions `from` repeated to `to`, which [`broadcast`] has found.
pub fn expansion(from: &[usize], to: &[usize]) -> Arrangement {
    let new = to.len() - from.len();
    let axis = |(at, &length): (usize, &usize)| match at.checked_sub(new) {
        None => Axis::repeated(length),
        Some(source) if from[source] == length => Axis::whole(source),
        Some(source) => Axis { source: Some(source), from: From::First(length) },
    };
    Arrangement(to.iter().enumerate().map(axis).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_come_from_where_axes_say() {
        let transposed = Arrangement(vec![Axis::whole(1), Axis::whole(0)]);
        assert_eq!(transposed.dims(&[2, 3]), [3, 2]);
        let places: Vec<usize> = transposed.places(&[2, 3]).into_iter().flatten().collect();
        assert_eq!(places, [0, 3, 1, 4, 2, 5]);
        assert_eq!(transposed.within_examples(), None);
        let reversed = Axis::places(1, 3, vec![Some(2), None, Some(0)]);
        let rows = Arrangement(vec![Axis::whole(0), reversed]);
        assert_eq!(rows.places(&[2, 3]), [Some(2), None, Some(0), Some(5), None, Some(3)]);
        assert_eq!(rows.within_examples().unwrap().places(&[3]), [Some(2), None, Some(0)]);
        assert_eq!(broadcast(&[2, 1, 3], &[4, 1]), Some(vec![2, 4, 3]));
        assert_eq!(broadcast(&[2], &[3]), None);
        let places: Vec<usize> = expansion(&[3], &[2, 3]).places(&[3]).into_iter().flatten().collect();
        assert_eq!(places, [0, 1, 2, 0, 1, 2]);
    }
}
