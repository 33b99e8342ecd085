//! The state of a file as numbers.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use super::FileState;

/// The state of a file as numbers, to be stored and compared later. They are signed because those of databases are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileStamp {
    /// Its length.
    pub length: i64,
    /// When it was last written, in nanoseconds since 1970; 0 if that is not known.
    pub modified: i64,
    /// The first number of its identity.
    pub device: i64,
    /// The second number of its identity.
    pub inode: i64,
}

impl FileStamp {
    /// Returns the stamp of a state.
    pub fn of(state: &FileState) -> Self {
        let (device, inode) = state.identity;
        Self {
            length: state.length.cast_signed(),
            modified: state.modified.map_or(0, nanoseconds),
            device: device.cast_signed(),
            inode: inode.cast_signed(),
        }
    }

    /// Reads a stamp that was written as text.
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split('.').map(|number| u64::from_str_radix(number, 16).ok());
        let mut next = || Some(numbers.next()??.cast_signed());
        let stamp = Self { length: next()?, modified: next()?, device: next()?, inode: next()? };
        numbers.next().is_none().then_some(stamp)
    }

    /// Returns which file it is, whatever its name.
    pub fn identity(self) -> (u64, u64) {
        (self.device.cast_unsigned(), self.inode.cast_unsigned())
    }
}

impl fmt::Display for FileStamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { length, modified, device, inode } = self;
        write!(formatter, "{length:x}.{modified:x}.{device:x}.{inode:x}")
    }
}

/// Returns a time in nanoseconds since 1970: negative before it, and the nearest number where there is none.
fn nanoseconds(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |before| -before),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn stamp(length: u64, modified: Option<SystemTime>, identity: (u64, u64)) -> FileStamp {
        FileStamp::of(&FileState { length, modified, identity })
    }

    #[test]
    fn a_stamp_is_read_as_it_was_written() {
        let times = [
            None,
            Some(UNIX_EPOCH + Duration::new(1_772_359_200, 5)),
            Some(UNIX_EPOCH - Duration::from_nanos(1)),
            Some(UNIX_EPOCH + Duration::from_secs(1 << 40)),
        ];
        for time in times {
            for identity in [(0, 0), (7, 8), (u64::MAX, 1 << 63)] {
                let stamp = stamp(12, time, identity);
                assert_eq!(FileStamp::parse(&stamp.to_string()), Some(stamp));
                assert_eq!((stamp.length, stamp.identity()), (12, identity));
            }
        }
        assert_eq!(stamp(255, None, (16, 1)).to_string(), "ff.0.10.1");
        for text in ["", "1.2.3", "1.2.3.4.5", "1.2.3.x", "1..3.4"] {
            assert_eq!(FileStamp::parse(text), None, "{text}");
        }
    }

    #[test]
    fn stamps_differ_with_length_time_and_identity() {
        let before_1970 = |nanos| Some(UNIX_EPOCH - Duration::from_nanos(nanos));
        let all = [
            stamp(1, None, (1, 1)),
            stamp(2, None, (1, 1)),
            stamp(1, before_1970(1), (1, 1)),
            stamp(1, before_1970(2), (1, 1)),
            stamp(1, None, (1, 2)),
            stamp(1, None, (2, 1)),
        ];
        for (index, one) in all.iter().enumerate() {
            assert!(all[index + 1..].iter().all(|other| other != one), "{one}");
        }
    }
}
