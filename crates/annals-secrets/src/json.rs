//! Masking inside JSON: all strings, without damage to what programs need.
//!
//! The rules look at the JSON text as a whole, so that the name of a member says what its value is. The text is parsed
//! only if they found something: then values that a form keeps are left alone, a masked string stays a string, and
//! each item says how many values were masked in it.

use std::borrow::Cow;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem::Finder;
use memchr::{memchr, memchr2, memmem, memrchr};

use crate::block::is_mixed;
use crate::boundary::whole_json_escapes;
use crate::cut::may_be_cut;
use crate::masker::Masker;
use crate::prefilter::{CutText, Signs};
use crate::rule::{Candidate, Form};
use crate::{entropy, mark};

/// What JSON of some origin consists of.
#[derive(Debug, Clone, Copy, Default)]
pub struct JsonForm {
    /// Keys of values that are never masked: ids, paths, cursors.
    pub keep: &'static [&'static str],
    /// Keys of values that are not masked if they are base64 and nothing else: signatures, images.
    pub keep_base64: &'static [&'static str],
    /// Keys of values that anybody may have made, such as the arguments of tools: below them nothing is kept.
    pub free: &'static [&'static str],
    /// Keys of texts that may have been cut after this many characters, so that they may end inside a secret.
    pub cut: &'static [(&'static str, usize)],
}

impl JsonForm {
    /// Returns whether an offset is in the name of a member whose value is never masked, unless it is below a free member.
    pub(crate) fn keeps_member_at(&self, json: &[u8], offset: usize) -> bool {
        const LONGEST: usize = 32;
        let near = &json[offset..json.len().min(offset + LONGEST)];
        let Some(end) = memchr(b'"', near).filter(|end| near[end + 1..].starts_with(b":")) else {
            return false;
        };
        let before = &json[offset.saturating_sub(LONGEST)..offset];
        let Some(quote) = memrchr(b'"', before) else { return false };
        let start = offset - (before.len() - quote - 1);
        has_key(self.keep, &json[start..offset + end])
    }

    /// Returns what finds the names of free members.
    pub(crate) fn free_names(&self) -> Vec<Finder<'static>> {
        self.free.iter().map(|free| Finder::new(&format!("\"{free}\"")).into_owned()).collect()
    }
}

/// Which objects say how many values were masked in them, in a member `masked` at their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Items {
    /// None.
    None,
    /// The outermost object.
    Whole,
    /// The objects in arrays of the outermost object; the outermost object itself for values outside of these.
    Elements,
}

/// JSON whose secrets are masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaskedJson<'t> {
    /// The JSON; borrowed if nothing was masked.
    pub json: Cow<'t, [u8]>,
    /// How many different values were masked, counted in each item.
    pub count: usize,
}

impl Masker {
    /// Masks the secrets in the strings of JSON, by the form that [`Masker::with_form`] set. Valid JSON stays valid.
    ///
    /// ```
    /// use annals_secrets::{Items, JsonForm, Masker};
    ///
    /// let masker = Masker::new().with_form(JsonForm { keep: &["id"], free: &["input"], ..JsonForm::default() });
    /// let json = r#"{"id":"a","input":{"password":"c0rrect-horse"}}"#;
    /// let masked = masker.mask_json(json, Items::Whole);
    /// assert_eq!(&*masked.json, br#"{"id":"a","input":{"password":"[masked: password]"},"masked":1}"#);
    /// ```
    pub fn mask_json<'t>(&self, json: &'t str, items: Items) -> MaskedJson<'t> {
        self.rewrite(json.as_bytes(), self.scan(json, form_of(json.as_bytes())), items)
    }

    /// Does the same as [`Masker::mask_json`] with JSON that may not be UTF-8: such bytes stay as they are.
    pub fn mask_json_bytes<'t>(&self, json: &'t [u8], items: Items) -> MaskedJson<'t> {
        self.rewrite(json, self.scan_bytes(json), items)
    }

    /// Masks what was found in JSON, and what only a look at its structure finds.
    fn rewrite<'t>(
        &self,
        json: &'t [u8],
        (found, seen): (Vec<Candidate>, Signs),
        items: Items,
    ) -> MaskedJson<'t> {
        if found.is_empty() && !seen.hidden && !seen.cuts.iter().any(|cut| self.is_cut_in_secret(json, cut)) {
            return MaskedJson { json: Cow::Borrowed(json), count: 0 };
        }
        if form_of(json) == Form::Text {
            return masked_text(json, self.edits(found));
        }
        let mut rewrite = Rewrite {
            masker: self,
            json,
            items,
            found: &found,
            stack: Vec::new(),
            edits: Vec::new(),
            count: 0,
            open_key: None,
            look_ahead: LONGEST_KEY + 8 * json.len(),
        };
        rewrite.run();
        let Rewrite { edits, count, .. } = rewrite;
        MaskedJson { json: apply(json, edits), count }
    }

    /// Returns whether a text may have been cut inside a secret.
    fn is_cut_in_secret(&self, json: &[u8], cut: &CutText) -> bool {
        let text = std::str::from_utf8(&json[cut.range.clone()]);
        text.is_ok_and(|text| self.secret_at_cut(text, cut.longest).is_some())
    }

    /// Does the same as [`Masker::scan`] in bytes that may not be UTF-8.
    fn scan_bytes(&self, bytes: &[u8]) -> (Vec<Candidate>, Signs) {
        if let Ok(text) = std::str::from_utf8(bytes) {
            return self.scan(text, form_of(bytes));
        }
        let (mut found, mut seen) = (Vec::new(), Signs::default());
        let mut offset = 0;
        for chunk in bytes.utf8_chunks() {
            // Where such a part begins, nobody knows whether it is in a string.
            let (secrets, seen_here) = self.scan(chunk.valid(), Form::Text);
            found.extend(secrets.into_iter().map(|mut secret| {
                secret.move_by(offset);
                secret
            }));
            seen.join(seen_here, offset);
            offset += chunk.valid().len() + chunk.invalid().len();
        }
        (found, seen)
    }

    /// Masks the secrets in bytes that may not be UTF-8; `None` if there are none.
    fn mask_bytes(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let edits = self.edits(self.scan_bytes(bytes).0);
        (!edits.is_empty()).then(|| apply(bytes, edits).into_owned())
    }

    fn edits(&self, found: Vec<Candidate>) -> Vec<Edit> {
        found.into_iter().map(|found| Edit { range: found.secret, text: self.mark(found.rule) }).collect()
    }

    fn mark(&self, rule: usize) -> String {
        let mut text = String::new();
        mark::push(&mut text, &self.rules[rule].name);
        text
    }
}

/// Returns what a line seems to be.
fn form_of(line: &[u8]) -> Form {
    match line.trim_ascii_start() {
        [b'{' | b'[' | b'"', ..] => Form::Json,
        _ => Form::Text,
    }
}

/// Returns a line that is not JSON with its edits.
fn masked_text(text: &[u8], edits: Vec<Edit>) -> MaskedJson<'_> {
    let count = edits.len();
    MaskedJson { json: apply(text, edits), count }
}

/// The beginning of a text that is not UTF-8: `{"bytes": <base64>}`.
pub(crate) const BYTES_MEMBER: &[u8] = b"{\"bytes\":\"";
const BYTES: &[u8] = b"bytes";

/// What the first line of a private key has, and in a key file of PuTTY the line before its private part.
pub(crate) const KEY_BEGINS: [&[u8]; 2] = [KEY_FIRST, b"Private-Lines:"];
const KEY_FIRST: &[u8] = b"-----BEGIN ";
const KEY_LINE: &[u8] = b"PRIVATE KEY";
/// What the last line has, or in a key file of PuTTY the line after its private part.
const KEY_ENDS: [&[u8]; 2] = [b"-----END ", b"Private-MAC:"];

/// How far after the first line of a private key its last line is looked for. Keys of 16,384 bits have 13 kB.
const LONGEST_KEY: usize = 64 * 1024;

/// How long a line of a key is at most, with what may stand before it, such as its number. Longer strings after the first
/// line of a key are masked only if they are in the same array.
const LONGEST_KEY_LINE: usize = 128;

/// The rule that masks private keys.
const KEY_RULE: &str = "private-key";

/// A replacement of some bytes; an empty range inserts.
#[derive(Debug)]
struct Edit {
    range: Range<usize>,
    text: String,
}

/// Applies edits, which are in order and do not overlap.
fn apply(json: &[u8], edits: Vec<Edit>) -> Cow<'_, [u8]> {
    if edits.is_empty() {
        return Cow::Borrowed(json);
    }
    let mut out = Vec::with_capacity(json.len() + 16 * edits.len());
    let mut rest = 0;
    for Edit { range, text } in edits {
        out.extend_from_slice(&json[rest..range.start]);
        out.extend_from_slice(text.as_bytes());
        rest = range.end;
    }
    out.extend_from_slice(&json[rest..]);
    Cow::Owned(out)
}

/// An object or an array that is open.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Frame {
    is_object: bool,
    /// The key that it stands under; an array passes its own on to its elements.
    key: Range<usize>,
    /// The key of the next value of an object.
    member: Range<usize>,
    expects_key: bool,
    /// Whether it stands below a key of [`JsonForm::free`].
    is_free: bool,
    /// Whether the next string of an array is a line of a private key.
    private_key: PrivateKey,
    /// The values that were masked in it, if it is an item.
    masked: Vec<Range<usize>>,
    /// Whether it says already how many values were masked before.
    says_count: bool,
}

/// One pass over JSON that collects edits.
struct Rewrite<'a> {
    masker: &'a Masker,
    json: &'a [u8],
    items: Items,
    /// What the rules found and was not reached yet.
    found: &'a [Candidate],
    stack: Vec<Frame>,
    edits: Vec<Edit>,
    count: usize,
    /// The end of the string with the first line of a private key, until a string has its last line.
    open_key: Option<usize>,
    /// How many bytes may still be searched for the last lines of private keys.
    look_ahead: usize,
}

impl Rewrite<'_> {
    /// Reads the JSON token by token. Broken JSON is read as far as it makes sense; nothing of it is kept back.
    fn run(&mut self) {
        let mut at = 0;
        while at < self.json.len() {
            at = match self.json[at] {
                b'"' => {
                    let end = end_of_string(self.json, at + 1);
                    self.string(at + 1..end);
                    end + 1
                }
                b'{' | b'[' => {
                    self.open(self.json[at] == b'{');
                    at + 1
                }
                b'}' | b']' => {
                    self.close(at);
                    at + 1
                }
                b',' => {
                    if let Some(frame) = self.stack.last_mut() {
                        frame.expects_key = frame.is_object;
                    }
                    at + 1
                }
                b':' | b' ' | b'\t' | b'\n' | b'\r' => at + 1,
                _ => {
                    let end = end_of_literal(self.json, at);
                    self.literal(at..end);
                    end
                }
            };
        }
        // Of broken JSON, what was never closed still counts.
        while !self.stack.is_empty() {
            self.count_and_pop();
        }
    }

    fn open(&mut self, is_object: bool) {
        let key = self.key();
        let is_free = self.stack.last().is_some_and(|frame| frame.is_free)
            || self.masker.form.free.iter().any(|free| free.as_bytes() == &self.json[key.clone()]);
        self.stack.push(Frame {
            is_object,
            member: 0..0,
            key,
            expects_key: is_object,
            is_free,
            private_key: PrivateKey::Outside,
            masked: Vec::new(),
            says_count: false,
        });
    }

    /// Ends an object or an array; an item says how many values were masked in it.
    fn close(&mut self, at: usize) {
        let may_say = self.stack.last().is_some_and(|frame| frame.is_object && !frame.says_count);
        let count = self.count_and_pop();
        if count > 0 && may_say && self.items != Items::None {
            self.edits.push(Edit { range: at..at, text: format!(",\"masked\":{count}") });
        }
    }

    /// Returns how many different values were masked in the innermost object or array, and adds them to the sum.
    fn count_and_pop(&mut self) -> usize {
        let masked = self.stack.pop().map(|frame| frame.masked).unwrap_or_default();
        let mut values: Vec<_> = masked.into_iter().map(|range| &self.json[range]).collect();
        values.sort_unstable();
        values.dedup();
        self.count += values.len();
        values.len()
    }

    /// Returns the key of the next value.
    fn key(&self) -> Range<usize> {
        self.stack
            .last()
            .map_or(0..0, |frame| if frame.is_object { frame.member.clone() } else { frame.key.clone() })
    }

    fn string(&mut self, range: Range<usize>) {
        let is_key = self.stack.last().is_some_and(|frame| frame.expects_key);
        let found = self.found_in(&range, is_key);
        if let Some(frame) = self.stack.last_mut().filter(|_| is_key) {
            (frame.member, frame.expects_key) = (range.clone(), false);
            frame.says_count |= &self.json[range.clone()] == b"masked";
        }
        if !is_key && (self.is_kept(&range) || self.bytes_member(&range)) {
            return;
        }
        let mut end = if is_key { range.start } else { self.line_of_private_key(&range) };
        for secret in &found {
            let masked = secret.secret.start.max(end)..secret.secret.end.min(range.end);
            let masked = self.whole_escapes(&range, end, masked);
            end = masked.end.max(end);
            let text = self.masker.mark(secret.rule);
            self.mask(masked, text);
        }
        if !is_key {
            self.cut_end(range, end);
        }
    }

    /// Masks the lines of a private key that are in strings of their own: in an array, or in objects or arrays that follow
    /// each other. Returns the end of what was masked in this string, or its start.
    fn line_of_private_key(&mut self, range: &Range<usize>) -> usize {
        let json = self.json;
        let line = &json[range.clone()];
        let array = self.stack.last().filter(|frame| !frame.is_object);
        let state = array.map_or(PrivateKey::Outside, |array| array.private_key);
        let is_near_key = self.open_key.is_some_and(|begin| range.start - begin <= LONGEST_KEY);
        let is_masked = match state {
            PrivateKey::Outside => is_near_key && self.may_be_key_line(line),
            PrivateKey::Whole => !is_blank(line),
            PrivateKey::WithoutEnd => looks_like_key(line),
        };
        match self.key_at_end(line) {
            Some(KeyLine::First) => self.open_key = Some(range.end),
            Some(KeyLine::Last) => self.open_key = None,
            None => {}
        }
        if array.is_some() {
            let next = self.private_key_behind(range, state);
            if let Some(array) = self.stack.last_mut() {
                array.private_key = next;
            }
        }
        let rule = self.masker.rules.iter().position(|rule| rule.name == KEY_RULE);
        let Some(rule) = rule.filter(|_| is_masked) else { return range.start };
        // A line of a patch keeps its sign.
        let sign = usize::from(matches!(line, [b' ' | b'+' | b'-', _, ..]) && end_of_key(line) != Some(0));
        let length = end_of_key(line).unwrap_or(line.len());
        let masked = range.start + sign..range.start + length.max(sign);
        if json[masked.clone()] != *self.masker.mark(rule).as_bytes() {
            let text = self.masker.mark(rule);
            self.mask(masked.clone(), text);
        }
        masked.end
    }

    /// Returns whether a string near a private key may be one of its lines. A string with a mark is none: it may have been too
    /// long before it was masked.
    fn may_be_key_line(&self, line: &[u8]) -> bool {
        line.len() <= LONGEST_KEY_LINE
            && looks_random(line)
            && mark::marks(line, &self.masker.rules).is_empty()
    }

    /// Returns which line of a key a string has last; `None` if it has neither the first nor the last one. A mark may
    /// have replaced the last line, so it counts as one: masking masked JSON must not find more.
    fn key_at_end(&self, line: &[u8]) -> Option<KeyLine> {
        let begins = KEY_BEGINS.iter().filter_map(|begin| memmem::rfind(line, begin));
        let Some(begin) = begins.max() else { return self.may_end_key(line).then_some(KeyLine::Last) };
        let behind = &line[begin..];
        let is_private = !behind.starts_with(KEY_FIRST) || memmem::find(behind, KEY_LINE).is_some();
        let is_open = is_private && !self.may_end_key(behind);
        Some(if is_open { KeyLine::First } else { KeyLine::Last })
    }

    /// Returns whether a text has the last line of a key, or a mark that may have replaced it.
    fn may_end_key(&self, text: &[u8]) -> bool {
        ends_key(text) || !mark::marks(text, &self.masker.rules).is_empty()
    }

    /// Returns whether the string after this one is a line of a private key.
    fn private_key_behind(&mut self, range: &Range<usize>, state: PrivateKey) -> PrivateKey {
        match self.key_at_end(&self.json[range.clone()]) {
            None => state,
            Some(KeyLine::Last) => PrivateKey::Outside,
            Some(KeyLine::First) if self.has_end_of_key(range.end + 1) => PrivateKey::Whole,
            Some(KeyLine::First) => PrivateKey::WithoutEnd,
        }
    }

    /// Returns whether a later string of the array at `from` has the last line of a private key.
    fn has_end_of_key(&mut self, from: usize) -> bool {
        let near = &self.json[from.min(self.json.len())..self.json.len().min(from + LONGEST_KEY)];
        // A hostile text may begin a key in every string: when all have cost too much, each counts as ended, so that
        // everything in its array is masked.
        let Some(left) = self.look_ahead.checked_sub(near.len()) else { return true };
        self.look_ahead = left;
        if !ends_key(near) {
            return false;
        }
        let mut depth = 0_usize;
        let mut at = 0;
        while at < near.len() {
            match near[at] {
                b'"' => {
                    let end = end_of_string(near, at + 1);
                    if depth == 0 && ends_key(&near[at + 1..end]) {
                        return true;
                    }
                    at = end;
                }
                b'[' | b'{' => depth += 1,
                b']' | b'}' if depth == 0 => return false,
                b']' | b'}' => depth -= 1,
                _ => {}
            }
            at += 1;
        }
        false
    }

    /// Masks what a rule found outside of strings, which is no JSON. Numbers and constants stay, because programs need them.
    fn literal(&mut self, range: Range<usize>) {
        if is_literal(&self.json[range.clone()]) {
            return;
        }
        if let Some(secret) = self.found_in(&range, false).first() {
            let text = format!("\"{}\"", self.masker.mark(secret.rule));
            self.mask(range, text);
        }
    }

    /// Returns what the rules found in a string. What begins in it and goes on after it is found in no other string, except
    /// that what begins in a name and goes on is found in the value.
    fn found_in(&mut self, range: &Range<usize>, is_key: bool) -> Vec<Candidate> {
        let before = self.found.iter().take_while(|found| found.secret.end <= range.start).count();
        let found = &self.found[before..];
        let here = found.iter().take_while(|found| {
            let is_inside = range.start <= found.secret.start && found.secret.end <= range.end;
            found.secret.start < range.end && (!is_key || is_inside)
        });
        let here: Vec<_> = here.cloned().collect();
        self.found = &found[here.len()..];
        here
    }

    /// Moves the ends of a range in a string so that the string stays one; `from` is the end of what was masked before it.
    fn whole_escapes(&self, string: &Range<usize>, from: usize, range: Range<usize>) -> Range<usize> {
        if range.is_empty() {
            return range;
        }
        let start = string.start;
        let inside = range.start - start..range.end - start;
        let whole = whole_json_escapes(&self.json[string.clone()], from - start, inside);
        start + whole.start..start + whole.end
    }

    fn mask(&mut self, range: Range<usize>, text: String) {
        if range.is_empty() {
            return;
        }
        let item = match self.items {
            Items::Elements if is_element(&self.stack) => self.stack.get_mut(2),
            _ => self.stack.first_mut(),
        };
        match item {
            Some(item) => item.masked.push(range.clone()),
            None => self.count += 1,
        }
        self.edits.push(Edit { range, text });
    }

    /// Returns whether the form keeps a value as it is.
    fn is_kept(&self, value: &Range<usize>) -> bool {
        let key = &self.json[self.key()];
        let is_free = self.stack.last().is_some_and(|frame| frame.is_free);
        let form = &self.masker.form;
        !is_free
            && (has_key(form.keep, key)
                || has_key(form.keep_base64, key) && is_base64(&self.json[value.clone()]))
    }

    /// Masks text that is not UTF-8, which is in base64 as the only member of an object. Returns whether it did.
    fn bytes_member(&mut self, range: &Range<usize>) -> bool {
        if &self.json[self.key()] != BYTES {
            return false;
        }
        let Ok(bytes) = STANDARD.decode(&self.json[range.clone()]) else { return false };
        let Some(masked) = self.masker.mask_bytes(&bytes) else { return false };
        self.mask(range.clone(), STANDARD.encode(masked));
        true
    }

    /// Masks the beginning of a secret at the end of a text that may have been cut; `from` is the end of the last secret
    /// in it.
    fn cut_end(&mut self, range: Range<usize>, from: usize) {
        let key = &self.json[self.key()];
        let Some((_, longest)) = self.masker.form.cut.iter().find(|(cut, _)| cut.as_bytes() == key) else {
            return;
        };
        let Ok(text) = std::str::from_utf8(&self.json[range.clone()]) else { return };
        let cut = self.masker.secret_at_cut(text, *longest);
        if let Some(cut) = cut.filter(|cut| range.start + cut.secret.start >= from) {
            let masked = range.start + cut.secret.start..range.start + cut.secret.end;
            let masked = self.whole_escapes(&range, from, masked);
            let text = self.masker.mark(cut.rule);
            self.mask(masked, text);
        }
    }
}

/// Returns where the text stands with which JSON goes on at an offset, if it may have been cut after so many characters.
pub(crate) fn cut_text_at(json: &[u8], at: usize, longest: usize) -> Option<Range<usize>> {
    let [b'"', text @ ..] = json[at..].trim_ascii_start() else { return None };
    let start = json.len() - text.len();
    let range = start..end_of_string(json, start);
    may_be_cut(&json[range.clone()], longest).then_some(range)
}

fn has_key(keys: &[&str], key: &[u8]) -> bool {
    keys.iter().any(|other| other.as_bytes() == key)
}

/// Returns whether the innermost value is in an object that is an element of an array of the outermost object.
fn is_element(stack: &[Frame]) -> bool {
    matches!(stack, [outer, list, element, ..] if outer.is_object && !list.is_object && element.is_object)
}

/// Whether the next string of an array is a line of a private key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PrivateKey {
    /// It is not.
    Outside,
    /// It is: a later string has the last line of the key.
    Whole,
    /// It is if it looks like one: the last line is missing, so this may also be a search for keys with its other arguments.
    WithoutEnd,
}

/// The line of a private key, or of a certificate, that a string has last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyLine {
    /// The first line of a private key: the key goes on after the string.
    First,
    /// The last line, or a line of something else: what follows belongs to no key.
    Last,
}

fn ends_key(text: &[u8]) -> bool {
    end_of_key(text).is_some()
}

/// Returns where the last line of a key begins.
fn end_of_key(text: &[u8]) -> Option<usize> {
    KEY_ENDS.iter().filter_map(|end| memmem::find(text, end)).min()
}

/// Returns whether a line of JSON text has nothing that a person sees, except for the sign of a patch.
fn is_blank(line: &[u8]) -> bool {
    let line = if let [b' ' | b'+' | b'-', rest @ ..] = line { rest } else { line };
    let mut rest = line.trim_ascii();
    while let [b'\\', b'n' | b'r' | b't', behind @ ..] = rest {
        rest = behind.trim_ascii();
    }
    rest.is_empty()
}

/// Returns whether a line has a run of base64 as private keys have them.
fn looks_like_key(line: &[u8]) -> bool {
    runs_of_key(line).next().is_some()
}

/// Returns whether a line has such a run that looks random, too: the path of a file does not.
fn looks_random(line: &[u8]) -> bool {
    const LEAST_ENTROPY: f64 = 4.3;
    runs_of_key(line).any(|run| entropy::bits_per_byte(run) >= LEAST_ENTROPY)
}

/// Returns the runs of base64 that are long and have capitals, small letters and digits.
fn runs_of_key(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    const SHORTEST: usize = 24;
    let runs = line.split(|byte| !is_base64(std::slice::from_ref(byte)));
    runs.filter(|run| run.len() >= SHORTEST && is_mixed(run))
}

fn is_base64(text: &[u8]) -> bool {
    text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(byte))
}

/// Returns where the string ends whose content starts at `at`: the offset of its closing quote, or the end of the text.
pub(crate) fn end_of_string(json: &[u8], mut at: usize) -> usize {
    while let Some(found) = memchr2(b'"', b'\\', json.get(at..).unwrap_or_default()) {
        at += found;
        if json[at] == b'"' {
            return at;
        }
        at += 2;
    }
    json.len()
}

/// Returns whether a token is a number, `true`, `false` or `null`.
fn is_literal(token: &[u8]) -> bool {
    matches!(token, b"true" | b"false" | b"null")
        || token.iter().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(byte))
}

fn end_of_literal(json: &[u8], at: usize) -> usize {
    let length = json[at + 1..].iter().position(|byte| b"\"{}[],: \t\n\r".contains(byte));
    length.map_or(json.len(), |length| at + 1 + length)
}
