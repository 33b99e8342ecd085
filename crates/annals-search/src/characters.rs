//! What a character is to the analyzer, and what letters are folded to.

use std::sync::LazyLock;

use unicode_normalization::char::{decompose_compatible, is_combining_mark};

/// What a character is to the analyzer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Part of a word, after folding.
    Letter,
    /// A character of a script that puts no blanks between words, and that folding does not change.
    Unspaced,
    /// A token of its own.
    Emoji,
    /// One half of a flag.
    Regional,
    /// A character that nobody sees: words continue behind it.
    Ignored,
    /// Everything else: it ends words and is not indexed.
    Separator,
}

impl Class {
    pub(crate) fn of(character: char) -> Self {
        match character {
            'a'..='z' | 'A'..='Z' | '0'..='9' => Class::Letter,
            '\0'..='\u{7f}' => Class::Separator,
            _ if is_plain_unspaced(character) => Class::Unspaced,
            _ if is_ignored(character) => Class::Ignored,
            '\u{1f1e6}'..='\u{1f1ff}' => Class::Regional,
            _ if is_emoji(character) => Class::Emoji,
            _ if is_sign(character) => Class::Separator,
            _ if character.is_alphanumeric() || is_combining_mark(character) => Class::Letter,
            _ => Class::Separator,
        }
    }
}

/// Returns whether a letter has a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    Upper,
    Lower,
    None,
}

/// Calls `output` with each character that a letter is folded to: without compatibility forms, accents and case.
///
/// Marks that carry no accent (vowels of Indic scripts, the sound marks of kana) stay. They come behind the character
/// that they belong to, as do the parts of Hangul syllables that were written apart.
pub(crate) fn fold(letter: char, mut output: impl FnMut(char, Case)) {
    decompose_compatible(letter, |character| {
        if is_accent(character) || !(character.is_alphanumeric() || is_combining_mark(character)) {
            return;
        }
        let case = match character {
            _ if character.is_uppercase() => Case::Upper,
            _ if character.is_lowercase() => Case::Lower,
            _ => Case::None,
        };
        for lower in character.to_lowercase().filter(|&lower| !is_accent(lower)) {
            match undecomposed(lower) {
                Some(letters) => letters.chars().for_each(|letter| output(letter, case)),
                None => output(lower, case),
            }
        }
    });
}

/// Returns what [`fold`] makes of a letter that it folds to one letter, for the alphabets of Europe and the Near East.
pub(crate) fn fold_to_one(letter: char) -> Option<(char, Case)> {
    static FOLDED: LazyLock<Vec<Option<(char, Case)>>> = LazyLock::new(|| {
        let letters = '\0'..'\u{700}';
        let folded = letters.map(|letter| {
            let mut all = Vec::new();
            if Class::of(letter) == Class::Letter && !is_combining_mark(letter) {
                fold(letter, |folded, case| all.push((folded, case)));
            }
            all.pop().filter(|_| all.is_empty())
        });
        folded.collect()
    });
    let index = usize::try_from(u32::from(letter)).ok()?;
    *FOLDED.get(index)?
}

/// Returns the letters that are commonly typed for one that Unicode does not decompose.
fn undecomposed(lower: char) -> Option<&'static str> {
    Some(match lower {
        'ß' => "ss",
        'æ' => "ae",
        'œ' => "oe",
        'þ' => "th",
        'ø' => "o",
        'đ' | 'ð' => "d",
        'ħ' => "h",
        'ı' => "i",
        'ł' => "l",
        'ŧ' => "t",
        'ς' => "σ",
        _ => return None,
    })
}

/// Returns whether a mark is left out: accents, and the points of Hebrew and Arabic, which are mostly not written.
fn is_accent(mark: char) -> bool {
    matches!(mark,
        '\u{300}'..='\u{36f}'
        | '\u{483}'..='\u{489}'
        | '\u{591}'..='\u{5c7}'
        | '\u{610}'..='\u{61a}'
        | '\u{640}'
        | '\u{64b}'..='\u{65f}'
        | '\u{670}'
        | '\u{6d6}'..='\u{6dc}'
        | '\u{6df}'..='\u{6e4}'
        | '\u{6e7}'..='\u{6e8}'
        | '\u{6ea}'..='\u{6ed}'
        | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}'
        | '\u{fe20}'..='\u{fe2f}')
}

/// Returns whether a folded character belongs to a script that puts no blanks between words, or is Hangul, whose
/// words carry endings without a boundary.
pub(crate) fn is_unspaced(folded: char) -> bool {
    is_plain_unspaced(folded)
        || matches!(folded,
            '\u{e00}'..='\u{eff}'           // Thai, Lao
            | '\u{1000}'..='\u{109f}'       // Myanmar
            | '\u{1100}'..='\u{11ff}'       // Hangul, letters that are combined
            | '\u{1780}'..='\u{17ff}'       // Khmer
            | '\u{3040}'..='\u{3098}'       // kana with U+309F, U+30FF
            | '\u{309b}'..='\u{312f}'       // Bopomofo
            | '\u{31a0}'..='\u{31bf}'
            | '\u{a960}'..='\u{a97f}'
            | '\u{d7b0}'..='\u{d7ff}')
}

/// Returns whether a character is an unspaced letter in its folded form, so that nothing has to be looked up.
fn is_plain_unspaced(character: char) -> bool {
    matches!(character,
        '\u{4e00}'..='\u{9fff}'             // Han
        | '\u{3400}'..='\u{4dbf}'
        | '\u{3041}'..='\u{3096}'           // hiragana
        | '\u{309d}' | '\u{309e}'
        | '\u{30a1}'..='\u{30fa}'           // katakana
        | '\u{30fc}'..='\u{30fe}'
        | '\u{ac00}'..='\u{d7a3}'           // Hangul
        | '\u{3131}'..='\u{318e}'
        | '\u{3005}'..='\u{3007}'
        | '\u{20000}'..='\u{2f7ff}'         // Han, rare characters
        | '\u{2fa20}'..='\u{3ffff}')
}

/// Returns whether a character is invisible, or only selects the form of the one before it.
fn is_ignored(character: char) -> bool {
    matches!(character,
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200c}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{20e3}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{1f3fb}'..='\u{1f3ff}'         // skin tones
        | '\u{e0000}'..='\u{e0fff}')
}

/// Returns whether a symbol is a token: emoji, and the signs that programs print in front of results (`✓`, `✗`, `⏺`).
fn is_emoji(character: char) -> bool {
    matches!(character,
        '\u{1f000}'..='\u{1faff}'
        | '\u{2600}'..='\u{27bf}'
        | '\u{231a}' | '\u{231b}'
        | '\u{23e9}'..='\u{23fa}'
        | '\u{2b1b}' | '\u{2b1c}' | '\u{2b50}' | '\u{2b55}')
}

/// Returns whether a character is one of the frequent signs that are neither letters nor digits, so that nothing has to be
/// looked up: dashes, quotation marks, arrows, operators, lines and boxes, and the punctuation of Chinese and Japanese.
fn is_sign(character: char) -> bool {
    matches!(character,
        '\u{2010}'..='\u{205e}'
        | '\u{2190}'..='\u{22ff}'
        | '\u{2500}'..='\u{25ff}'
        | '\u{3000}'..='\u{3004}'
        | '\u{3008}'..='\u{3020}'
        | '\u{ff01}'..='\u{ff0f}'
        | '\u{ff1a}'..='\u{ff20}'
        | '\u{ff3b}'..='\u{ff40}'
        | '\u{ff5b}'..='\u{ff65}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> String {
        let mut out = String::new();
        text.chars().for_each(|character| fold(character, |character, _| out.push(character)));
        out
    }

    #[test]
    fn case_accents_and_forms_are_folded() {
        for (text, expected) in [
            ("Ärger", "arger"),
            ("A\u{308}rger", "arger"),
            ("STRASSE", "strasse"),
            ("Straße", "strasse"),
            ("İstanbul", "istanbul"),
            ("Łódź", "lodz"),
            ("ΟΔΟΣ", "οδοσ"),
            ("οδος", "οδοσ"),
            ("Ａ１", "a1"),
            ("ﬁle", "file"),
            ("x²", "x2"),
            ("Ёлка", "елка"),
            ("हिन्दी", "हिन्दी"),
            ("שָׁלוֹם", "שלום"),
        ] {
            assert_eq!(folded(text), expected);
        }
    }

    #[test]
    fn letters_are_folded_to_one_where_they_are_folded_to_one() {
        assert_eq!(fold_to_one('Я'), Some(('я', Case::Upper)));
        assert_eq!(fold_to_one('é'), Some(('e', Case::Lower)));
        for other in ['ß', '\u{301}', '中', '«', '\u{ad}', '\u{640}'] {
            assert_eq!(fold_to_one(other), None, "{other}");
        }
    }

    #[test]
    fn frequent_signs_are_neither_letters_nor_digits() {
        for sign in ('\0'..=char::MAX).filter(|&character| is_sign(character)) {
            assert!(!sign.is_alphanumeric() && !is_combining_mark(sign), "U+{:04X}", u32::from(sign));
        }
    }

    #[test]
    fn classes_tell_words_from_signs() {
        for (class, characters) in [
            (Class::Letter, "aZ9éßЯ①ｶﾞ\u{301}\u{94d}ไ"),
            (Class::Unspaced, "中文あカー々한ㅋ"),
            (Class::Emoji, "🎉✅✓⏺⭐"),
            (Class::Regional, "🇩🇪"),
            (Class::Ignored, "\u{200d}\u{fe0f}\u{ad}\u{feff}🏽"),
            (Class::Separator, " _-/.:，。「・→│…\u{200b}\u{fffd}"),
        ] {
            for character in characters.chars() {
                assert_eq!(Class::of(character), class, "{character:?} U+{:04X}", u32::from(character));
            }
        }
    }
}
