//! Numbers and texts as bytes, and back. A number takes as many bytes as it needs, seven bits each.

use crate::file::{ClientCost, ClientModel};
use crate::money::Money;
use crate::names::Names;

/// Bytes that are written.
#[derive(Debug, Default)]
pub(crate) struct Output(pub(crate) Vec<u8>);

impl Output {
    #[expect(clippy::cast_possible_truncation, reason = "only the lowest seven bits are taken")]
    pub(crate) fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    /// Writes a number that may be negative.
    pub(crate) fn signed(&mut self, number: i64) {
        self.number(((number << 1) ^ (number >> 63)).cast_unsigned());
    }

    pub(crate) fn two_bytes(&mut self, number: u16) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub(crate) fn four_bytes(&mut self, number: u32) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub(crate) fn eight_bytes(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(crate) fn optional_text(&mut self, text: Option<&String>) {
        self.number(u64::from(text.is_some()));
        if let Some(text) = text {
            self.text(text);
        }
    }

    pub(crate) fn money(&mut self, money: Money) {
        self.number(u64::try_from(money.picos()).unwrap_or(u64::MAX));
    }

    pub(crate) fn numbers(&mut self, numbers: &[i64]) {
        self.number(numbers.len() as u64);
        for number in numbers {
            self.signed(*number);
        }
    }

    pub(crate) fn names(&mut self, names: &Names) {
        self.number(names.iter().len() as u64);
        names.iter().for_each(|name| self.text(name));
    }

    pub(crate) fn client(&mut self, client: Option<&ClientCost>) {
        self.number(u64::from(client.is_some()));
        let Some(client) = client else { return };
        self.money(client.cost);
        self.number(u64::from(client.has_unknown_model));
        self.number(client.models.len() as u64);
        for model in &client.models {
            self.text(&model.name);
            for number in [model.input, model.output, model.writes, model.read] {
                self.number(number);
            }
            self.money(model.cost);
        }
    }
}

/// Bytes that are read. Every method returns `None` if they are not what it expects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input<'a>(pub(crate) &'a [u8]);

impl<'a> Input<'a> {
    #[inline]
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    #[inline]
    pub(crate) fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    #[inline]
    pub(crate) fn small(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    /// Reads an index of a list of this length.
    pub(crate) fn index(&mut self, length: usize) -> Option<u32> {
        self.small().filter(|index| (*index as usize) < length)
    }

    #[inline]
    pub(crate) fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    #[inline]
    pub(crate) fn two_bytes(&mut self) -> Option<u16> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u16::from_le_bytes(*bytes))
    }

    #[inline]
    pub(crate) fn four_bytes(&mut self) -> Option<u32> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*bytes))
    }

    #[inline]
    pub(crate) fn eight_bytes(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*bytes))
    }

    /// Reads a number of things that follow, each of them of at least one byte.
    pub(crate) fn length(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok().filter(|length| *length <= self.0.len())
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.length()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    pub(crate) fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }

    /// Reads a text that may be missing into a place.
    pub(crate) fn optional_text(&mut self, text: &mut Option<String>) -> Option<()> {
        if self.number()? != 0 {
            *text = Some(self.text()?);
        }
        Some(())
    }

    pub(crate) fn money(&mut self) -> Option<Money> {
        self.number().map(|picos| Money::from_picos(i128::from(picos)))
    }

    pub(crate) fn numbers(&mut self) -> Option<Vec<i64>> {
        (0..self.length()?).map(|_| self.signed()).collect()
    }

    pub(crate) fn names(&mut self) -> Option<Names> {
        let mut names = Names::default();
        for _ in 0..self.length()? {
            let name = self.text()?;
            names.id(&name);
        }
        Some(names)
    }

    /// Reads what Claude Code itself counted, if there is such a count, into a place.
    pub(crate) fn client(&mut self, place: &mut Option<ClientCost>) -> Option<()> {
        if self.number()? == 0 {
            return Some(());
        }
        let (cost, has_unknown_model) = (self.money()?, self.number()? != 0);
        let mut models = Vec::new();
        for _ in 0..self.length()? {
            let name = self.text()?;
            let (input, output) = (self.number()?, self.number()?);
            let (writes, read) = (self.number()?, self.number()?);
            models.push(ClientModel { name, input, output, writes, read, cost: self.money()? });
        }
        *place = Some(ClientCost { cost, has_unknown_model, models });
        Some(())
    }
}
