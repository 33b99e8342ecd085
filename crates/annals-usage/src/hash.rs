//! A hash that stays the same for ever, because it is stored in files that cannot be computed anew.

/// Returns the hash of a text. Never 0, which means that there is no text.
///
/// It is FNV-1a with 64 bits, followed by the last step of `MurmurHash3`, so that all bits depend on all bytes.
pub fn stable_hash(parts: &[&str]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        for byte in part.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^= hash >> 33;
    hash.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_that_are_stored() {
        assert_eq!(stable_hash(&["msg_1"]), 0xa64c_9171_86ca_e1f9);
        assert_ne!(stable_hash(&["a", "b"]), stable_hash(&["ab"]));
        assert_ne!(stable_hash(&["a", ""]), stable_hash(&["a"]));
    }
}
