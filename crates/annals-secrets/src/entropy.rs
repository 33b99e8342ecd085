//! How random a text looks.

/// Returns the Shannon entropy of `text` in bits per byte, from the frequencies of its own bytes.
///
/// A word of eight letters has about 2.5, sixteen random hexadecimal digits 3.2, forty random letters and digits 4.8.
pub(crate) fn bits_per_byte(text: &[u8]) -> f64 {
    let mut counts = [0u32; 256];
    for &byte in text {
        counts[usize::from(byte)] += 1;
    }
    let length = f64::from(u32::try_from(text.len()).unwrap_or(u32::MAX));
    let shares = counts.iter().filter(|&&count| count > 0).map(|&count| f64::from(count) / length);
    -shares.map(|share| share * share.log2()).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_counts_bits() {
        for (text, expected) in [("", 0.0), ("aaaaaaaa", 0.0), ("abababab", 1.0), ("abcdefgh", 3.0)] {
            assert!((bits_per_byte(text.as_bytes()) - expected).abs() < 1e-9, "{text}");
        }
    }
}
