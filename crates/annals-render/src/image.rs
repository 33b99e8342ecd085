//! Images and documents: what they are, without their bytes.

use annals_transcript::content::Media;

/// The media types of images that are shown. SVG is not one of them: it can contain scripts.
const SHOWN: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// An image in a transcript: its type, from its first bytes, its size, and its data in base64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaRef<'a> {
    /// The media type.
    pub media: &'static str,
    /// How many bytes it has.
    pub bytes: u64,
    /// Width and height in pixels.
    pub size: Option<(u32, u32)>,
    /// Its bytes in base64.
    pub data: std::borrow::Cow<'a, str>,
}

/// Returns an image that can be shown: one of a known type whose bytes are in the transcript and are what they claim to be.
pub fn media<'a>(media: &Media<'a>) -> Option<MediaRef<'a>> {
    if media.source_type().as_deref() != Some("base64") {
        return None;
    }
    let data = media.data()?;
    let data = if data.contains(char::is_whitespace) {
        data.split_whitespace().collect::<String>().into()
    } else {
        data
    };
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    if !data.bytes().all(is_base64) {
        return None;
    }
    let head = decode(&data.as_bytes()[..data.len().min(2048)]);
    let (media, size) = sniff(&head)?;
    let padding = data.bytes().rev().take_while(|&byte| byte == b'=').count() as u64;
    let bytes = (data.len() as u64 * 3 / 4).saturating_sub(padding);
    SHOWN.contains(&media).then_some(MediaRef { media, bytes, size, data })
}

/// Returns the type and the size of an image from its first bytes.
fn sniff(head: &[u8]) -> Option<(&'static str, Option<(u32, u32)>)> {
    if head.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Some(("image/png", u32_be(head, 16).zip(u32_be(head, 20))));
    }
    if head.starts_with(b"GIF8") {
        return Some(("image/gif", u16_le(head, 6).zip(u16_le(head, 8))));
    }
    if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
        return Some(("image/webp", None));
    }
    head.starts_with(b"\xff\xd8\xff").then(|| ("image/jpeg", jpeg_size(head)))
}

fn u32_be(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u16_le(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?)))
}

fn u16_be(high: u8, low: u8) -> u32 {
    u32::from(u16::from_be_bytes([high, low]))
}

/// Finds the frame header of a JPEG among its first segments.
fn jpeg_size(head: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        let &[0xff, marker, high, low] = head.get(at..at + 4)? else { return None };
        if matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc) {
            let &[h1, h0, w1, w0] = head.get(at + 5..at + 9)? else { return None };
            return Some((u16_be(w1, w0), u16_be(h1, h0)));
        }
        at += 2 + usize::from(u16::from_be_bytes([high, low]));
    }
}

/// Returns the six bits that a character of base64 stands for.
fn base64_digit(byte: u8) -> Option<u32> {
    Some(u32::from(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}

/// Decodes the beginning of base64; the last incomplete group is left out.
fn decode(data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(data.len() * 3 / 4);
    for group in data.chunks_exact(4) {
        let bits = group.iter().try_fold(0, |bits, &byte| Some(bits << 6 | base64_digit(byte)?));
        let Some(bits) = bits else { break };
        bytes.extend_from_slice(&bits.to_be_bytes()[1..]);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use annals_transcript::content::Block;
    use annals_transcript::json::Value;

    use super::*;

    fn of(source: &str) -> Option<(&'static str, Option<(u32, u32)>)> {
        let json = format!(r#"{{"type":"image","source":{source}}}"#);
        let Block::Image(image) = Block::new(Value::new(json.as_bytes()).unwrap()) else { panic!() };
        media(&image).map(|found| (found.media, found.size))
    }

    #[test]
    fn an_image_is_what_its_bytes_say_and_svg_is_none() {
        let png = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAYAAAC56t6BAAAAC0lEQVR4nGNgwAQAABYAAQ==";
        assert_eq!(
            of(&format!(r#"{{"type":"base64","media_type":"image/svg+xml","data":"{png}"}}"#)),
            Some(("image/png", Some((2, 3))))
        );
        assert_eq!(
            of(r#"{"type":"base64","media_type":"image/png","data":"PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+"}"#),
            None
        );
        assert_eq!(of(r#"{"type":"url","url":"https://a.example/b.png"}"#), None);
        assert_eq!(of(r#"{"type":"base64","data":"iVBORw0KGgo\" onload=\"x"}"#), None);
    }
}
