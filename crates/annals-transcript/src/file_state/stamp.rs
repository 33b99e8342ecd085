//! The state of a file as numbers.

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

    /// Returns which file it is, whatever its name.
    pub fn identity(self) -> (u64, u64) {
        (self.device.cast_unsigned(), self.inode.cast_unsigned())
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
    fn a_stamp_keeps_length_and_identity() {
        for identity in [(0, 0), (7, 8), (u64::MAX, 1 << 63)] {
            let stamp = stamp(12, Some(UNIX_EPOCH + Duration::from_secs(1 << 40)), identity);
            assert_eq!((stamp.length, stamp.identity()), (12, identity));
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
            assert!(all[index + 1..].iter().all(|other| other != one), "{one:?}");
        }
    }
}
