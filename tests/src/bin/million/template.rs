//! An encoded object with places for numbers.

/// A number in a template, as decimal digits of a fixed width.
#[derive(Debug, Clone, Copy)]
struct Place {
    offset: usize,
    width: usize,
    number: usize,
}

/// A text that occurs in the sample of a template, and its digits that a number replaces.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    pub(crate) text: &'static str,
    /// The offset of the digits in the text.
    pub(crate) offset: usize,
    pub(crate) width: usize,
    /// The index of the number in the arguments of [`Template::fill`].
    pub(crate) number: usize,
}

/// An encoded object of which many others differ only in digits, so that lengths stay the same.
#[derive(Debug)]
pub(crate) struct Template {
    sample: Vec<u8>,
    places: Vec<Place>,
}

impl Template {
    /// Finds the marks in an encoded sample.
    ///
    /// # Panics
    /// If a mark is nowhere.
    pub(crate) fn new(sample: Vec<u8>, marks: &[Mark]) -> Self {
        let mut places = Vec::new();
        for mark in marks {
            let found = sample.windows(mark.text.len()).enumerate();
            let found = found.filter(|(_, window)| *window == mark.text.as_bytes());
            let Mark { width, number, .. } = *mark;
            let before = places.len();
            places.extend(found.map(|(at, _)| Place { offset: at + mark.offset, width, number }));
            assert!(places.len() > before, "{} is nowhere in the sample", mark.text);
        }
        Self { sample, places }
    }

    /// Appends the object with these numbers.
    pub(crate) fn fill(&self, numbers: &[u64], out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.sample);
        let object = &mut out[start..];
        for place in &self.places {
            let mut rest = numbers[place.number];
            for digit in object[place.offset..place.offset + place.width].iter_mut().rev() {
                *digit = b'0' + (rest % 10) as u8;
                rest /= 10;
            }
        }
    }
}
