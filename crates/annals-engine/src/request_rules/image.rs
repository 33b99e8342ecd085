//! The type and the size of an image, from the first bytes of its file.

/// Returns the media type, the width and the height of an image; `None` if the bytes are no image that the API takes. A size that the
/// first bytes do not say is 0.
pub(super) fn kind_and_size(bytes: &[u8]) -> Option<(&'static str, u32, u32)> {
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") && bytes.len() >= 24 {
        return Some(("image/png", big_endian(&bytes[16..20]), big_endian(&bytes[20..24])));
    }
    if (bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a")) && bytes.len() >= 10 {
        return Some(("image/gif", little_endian(&bytes[6..8]), little_endian(&bytes[8..10])));
    }
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        let size = bytes.get(24..30).filter(|_| bytes.get(12..16) == Some(b"VP8X"));
        let (width, height) =
            size.map_or((0, 0), |size| (1 + little_endian(&size[..3]), 1 + little_endian(&size[3..])));
        return Some(("image/webp", width, height));
    }
    bytes.starts_with(b"\xff\xd8").then(|| {
        let (width, height) = jpeg_size(bytes).unwrap_or((0, 0));
        ("image/jpeg", width, height)
    })
}

/// Finds the frame header of a JPEG file.
fn jpeg_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        let marker = *bytes.get(at + 1)?;
        if bytes[at] != 0xff {
            at += 1;
        } else if matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc) {
            let size = bytes.get(at + 5..at + 9)?;
            return Some((big_endian(&size[2..]), big_endian(&size[..2])));
        } else if marker == 0xff {
            at += 1;
        } else if matches!(marker, 0x01 | 0xd0..=0xd9) {
            at += 2;
        } else {
            at += 2 + big_endian(bytes.get(at + 2..at + 4)?) as usize;
        }
    }
}

fn big_endian(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, &byte| number << 8 | u32::from(byte))
}

fn little_endian(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u32::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_is_read_from_the_first_bytes() {
        let png = [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(), &[0, 0, 0x23, 0x28, 0, 0, 0, 2]].concat();
        assert_eq!(kind_and_size(&png), Some(("image/png", 9000, 2)));
        assert_eq!(kind_and_size(b"GIF89a\x04\x01\x02\x00"), Some(("image/gif", 260, 2)));
        let jpeg = [0xff, 0xd8, 0xff, 0xe0, 0, 4, 0, 0, 0xff, 0xc2, 0, 17, 8, 1, 2, 3, 4, 0];
        assert_eq!(kind_and_size(&jpeg), Some(("image/jpeg", 0x304, 0x102)));
        assert_eq!(kind_and_size(&jpeg[..9]), Some(("image/jpeg", 0, 0)));
        let webp = [b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0".as_slice(), &[9, 1, 0, 4, 0, 0]].concat();
        assert_eq!(kind_and_size(&webp), Some(("image/webp", 266, 5)));
        assert_eq!((kind_and_size(b"<svg/>"), kind_and_size(b"")), (None, None));
    }
}
