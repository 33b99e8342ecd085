//! Finds the ends of containers, 64 bytes at a time.
//!
//! The positions of quotes, backslashes and brackets in a block become one bit mask each. Arithmetic on the masks then tells
//! which brackets are outside of strings, without a branch per string: containers are full of short strings, and of long ones
//! with escaped quotes, whose lengths no processor can predict.

use wide::u8x16;

/// The number of bytes in a block: one for each bit of a mask.
pub(crate) const BLOCK: usize = 64;

/// The bits at odd positions.
const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;

/// Returns the position after the bracket that closes the one at `at`.
///
/// Only brackets of the same kind are counted: in JSON, the others are balanced in between.
pub(super) fn container_end(bytes: &[u8], mut at: usize, open: u8, close: u8) -> Option<usize> {
    let mut state = State { depth: 0, in_string: 0, escaped: 0 };
    let mut padding = [0; BLOCK];
    while let Some(block) = block_at(bytes, at, &mut padding) {
        match state.read(block, open, close) {
            Outcome::Open(next) => state = next,
            Outcome::Closed(length) => return Some(at + length),
            Outcome::StrayBackslash => return state.read_bytewise(bytes, at, open, close),
        }
        at += BLOCK;
    }
    None
}

/// Returns the block at `at`, padded with zeros if it is the last, or `None` at the end.
#[inline]
pub(super) fn block_at<'a>(
    bytes: &'a [u8],
    at: usize,
    padding: &'a mut [u8; BLOCK],
) -> Option<&'a [u8; BLOCK]> {
    let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
    if let Some(block) = rest.first_chunk() {
        return Some(block);
    }
    padding[..rest.len()].copy_from_slice(rest);
    Some(padding)
}

/// The state before a block. It is small and passed by value, so that it stays in registers.
#[derive(Clone, Copy)]
struct State {
    /// The number of open brackets.
    depth: usize,
    /// All ones if the block starts inside a string.
    in_string: u64,
    /// One if the first byte of the block is escaped.
    escaped: u64,
}

/// The result of reading a block.
enum Outcome {
    /// The container continues in the next block.
    Open(State),
    /// The container ends after this many bytes of the block.
    Closed(usize),
    /// There is a backslash outside of strings: this is not JSON, and the masks would treat it as an escape.
    StrayBackslash,
}

impl State {
    /// Reads one block.
    #[inline]
    fn read(self, block: &[u8; BLOCK], open: u8, close: u8) -> Outcome {
        let slashes = bytes_equal(block, b'\\');
        let (escaped, escapes_next) = escaped_bytes(slashes, self.escaped);
        let quotes = bytes_equal(block, b'"') & !escaped;
        // Most blocks are inside a string.
        if quotes == 0 && self.in_string != 0 {
            return Outcome::Open(State { escaped: escapes_next, ..self });
        }
        let strings = parities(quotes) ^ self.in_string;
        if slashes & !strings != 0 {
            return Outcome::StrayBackslash;
        }
        let opens = bytes_equal(block, open) & !strings;
        let closes = bytes_equal(block, close) & !strings;
        match depth_behind(self.depth, opens, closes) {
            Ok(depth) => {
                let in_string = (strings >> (BLOCK - 1)).wrapping_neg();
                Outcome::Open(State { depth, in_string, escaped: escapes_next })
            }
            Err(length) => Outcome::Closed(length),
        }
    }

    /// Reads all blocks from `at` on byte by byte; returns the position after the container.
    #[cold]
    fn read_bytewise(self, bytes: &[u8], at: usize, open: u8, close: u8) -> Option<usize> {
        let State { mut depth, .. } = self;
        let (mut in_string, mut escaped) = (self.in_string != 0, self.escaped != 0);
        for (at, &byte) in bytes.iter().enumerate().skip(at) {
            let literal = std::mem::take(&mut escaped);
            if byte == b'"' && !literal {
                in_string = !in_string;
            } else if in_string {
                escaped = byte == b'\\' && !literal;
            } else if byte == open {
                depth += 1;
            } else if byte == close {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
        }
        None
    }
}

/// Returns a mask of the bytes that equal `byte`.
#[inline]
pub(crate) fn bytes_equal(block: &[u8; BLOCK], byte: u8) -> u64 {
    mask_of(block, |lane| lane.simd_eq(u8x16::splat(byte)))
}

/// Returns a mask of the bytes for which `test` returns all ones.
#[inline]
pub(crate) fn mask_of(block: &[u8; BLOCK], test: impl Fn(u8x16) -> u8x16) -> u64 {
    let (lanes, _) = block.as_chunks::<16>();
    let masks =
        [lanes[0], lanes[1], lanes[2], lanes[3]].map(|lane| u64::from(test(u8x16::from(lane)).to_bitmask()));
    masks[0] | masks[1] << 16 | masks[2] << 32 | masks[3] << 48
}

/// Returns a mask of the escaped bytes, which follow an odd number of `slashes`, and one if the first byte after the block is
/// escaped; `first` is one if the first byte of the block is escaped.
#[inline]
pub(super) fn escaped_bytes(slashes: u64, first: u64) -> (u64, u64) {
    // A backslash that is escaped itself escapes nothing.
    let slashes = slashes & !first;
    let behind = slashes << 1;
    let odd_starts = slashes & !behind & ODD;
    // The sum carries through each run that starts at an odd position and sets the bit after it.
    let (carried, escapes_next) = slashes.overflowing_add(odd_starts);
    // A run is of odd length if it starts at an odd position and ends before an even one, or the other way round.
    let escaped = behind & !slashes & (carried ^ ODD);
    (escaped | first, u64::from(escapes_next))
}

/// Returns a mask in which each bit is the parity of `bits` up to and including it. For a mask of quotes these are the bytes
/// of strings, from each opening quote to before the closing one.
#[inline]
pub(super) fn parities(mut bits: u64) -> u64 {
    for distance in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << distance;
    }
    bits
}

/// Returns the number of open brackets after a block, or as an error the length up to the bracket that closes the last.
#[inline]
fn depth_behind(mut depth: usize, opens: u64, closes: u64) -> Result<usize, usize> {
    let mut brackets = opens | closes;
    while brackets != 0 {
        let lowest = brackets & brackets.wrapping_neg();
        if opens & lowest != 0 {
            depth += 1;
        } else if depth == 1 {
            return Err(brackets.trailing_zeros() as usize + 1);
        } else {
            depth -= 1;
        }
        brackets ^= lowest;
    }
    Ok(depth)
}
