//! The body of a watch as lines.

/// The longest line: well above what etcd can store.
const MAX: usize = 64 << 20;

/// Splits chunks into lines.
#[derive(Default)]
pub(super) struct Lines {
    buffer: Vec<u8>,
    /// The end of the part without a line break.
    searched: usize,
}

/// A line longer than any object.
#[derive(Debug, thiserror::Error)]
#[error("an event of the watch is longer than {MAX} bytes")]
pub(super) struct TooLong;

impl Lines {
    pub(super) fn push(&mut self, chunk: &[u8]) -> Result<(), TooLong> {
        self.buffer.extend_from_slice(chunk);
        if self.buffer.len() > MAX { Err(TooLong) } else { Ok(()) }
    }

    /// The next line that is complete and not blank.
    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let unsearched = self.buffer.get(self.searched..)?;
            let Some(length) = unsearched.iter().position(|byte| *byte == b'\n') else {
                self.searched = self.buffer.len();
                return None;
            };
            let rest = self.buffer.split_off(self.searched + length + 1);
            let line = std::mem::replace(&mut self.buffer, rest);
            self.searched = 0;
            if !line.trim_ascii().is_empty() {
                return Some(line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_however_they_arrive() {
        let text = b"one\n\n two \nthree";
        for size in 1..text.len() {
            let (mut lines, mut found) = (Lines::default(), vec![]);
            for chunk in text.chunks(size) {
                lines.push(chunk).unwrap();
                while let Some(line) = lines.next() {
                    found.push(String::from_utf8(line).unwrap());
                }
            }
            assert_eq!(found, ["one\n", " two \n"], "in chunks of {size}");
        }
    }
}
