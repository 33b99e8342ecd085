//! Which addresses may become links.

/// No longer address becomes a link.
const LONGEST: usize = 2048;

/// Returns an address that a link may have: its scheme is `http`, `https` or `mailto`, and it has no characters that hide or reorder
/// anything.
pub(crate) fn checked(address: &str) -> Option<String> {
    let address = address.trim();
    let (scheme, rest) = address.split_once(':')?;
    let is_web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    let is_allowed = is_web && rest.starts_with("//") && rest.len() > 2
        || scheme.eq_ignore_ascii_case("mailto") && rest.contains('@');
    let is_plain = !crate::has_harmful(address)
        && !address.chars().any(|c| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '\\' | '`'));
    (is_allowed && is_plain && address.len() <= LONGEST).then(|| address.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_web_and_of_mail_are_links() {
        for good in
            ["https://a.example/b?c=d#e", "HTTP://a.example", "mailto:a@b.example", "https://例え.example/茶"]
        {
            assert_eq!(checked(good).as_deref(), Some(good));
        }
        for bad in [
            "javascript:alert(1)",
            " javascript:alert(1)",
            "java\u{200b}script:alert(1)",
            "data:text/html,<script>",
            "vbscript:x",
            "file:///etc/passwd",
            "//a.example",
            "/a",
            "#a",
            "https:a",
            "https://a.example/\" onclick=\"x",
            "https://a.example/\u{202e}",
            "mailto:",
            "",
        ] {
            assert_eq!(checked(bad), None, "{bad:?}");
        }
    }
}
