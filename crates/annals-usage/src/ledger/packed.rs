//! Merged responses as bytes, decoded each time that they are looked at.
//!
//! That takes less time than to keep them decoded, because they need a fifth of the memory.
//! Responses are stored file by file. What few of them differ in (names and flags) is stored once, as a [`Shape`]; counters of 0 take no
//! byte. The hashes of message ids are stored apart, so that they can be looked through without decoding the rest.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::{LedgerFile, Response};
use crate::bytes::{Input, Output};
use crate::names::NameId;
use crate::reply::{Counters, Flags, NO_TIME, ReplyCount};

/// Responses as bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Packed {
    shapes: Vec<Shape>,
    parts: Vec<Part>,
    bytes: Vec<u8>,
}

/// What many responses have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Shape {
    names: [NameId; 5],
    flags: u16,
    is_kept: bool,
}

/// The responses of a file. Where they are is counted from the start of the bytes.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// The file, as an index of the ledger's files.
    file: u32,
    /// How many responses there are.
    length: usize,
    /// Where the hashes of their message ids begin.
    messages: usize,
    /// Where everything else begins.
    start: usize,
    end: usize,
}

/// A set of the fields that are stored of a response.
#[derive(Clone, Copy)]
struct Fields(u16);

impl Fields {
    const TIME: u16 = 1;
    const LINES: u16 = 1 << 1;
    const COPIES: u16 = 1 << 2;
    const RECORDED: u16 = 1 << 3;
    /// The first of nine counters.
    const COUNTERS: u16 = 1 << 4;

    fn has(self, field: u16) -> bool {
        self.0 & field != 0
    }
}

/// What the next response of a file is the difference to.
#[derive(Default)]
struct Last {
    time: i64,
    line: i64,
}

fn counters(counters: &mut Counters) -> [&mut u32; 9] {
    [
        &mut counters.input,
        &mut counters.output,
        &mut counters.write_5m,
        &mut counters.write_1h,
        &mut counters.write_unsplit,
        &mut counters.read,
        &mut counters.thinking,
        &mut counters.web_searches,
        &mut counters.web_fetches,
    ]
}

impl Packed {
    /// Returns the number of responses.
    pub(super) fn len(&self) -> usize {
        self.parts.iter().map(|part| part.length).sum()
    }

    /// Returns the files that have responses, each with the hashes of their message ids.
    pub(super) fn messages(&self) -> impl Iterator<Item = (u32, impl Iterator<Item = u64>)> {
        self.parts.iter().map(|part| (part.file, self.messages_of(part)))
    }

    fn messages_of<'a>(&'a self, part: &Part) -> impl Iterator<Item = u64> + use<'a> {
        let bytes = &self.bytes[part.messages..part.messages + 8 * part.length];
        bytes.as_chunks().0.iter().map(|hash| u64::from_le_bytes(*hash))
    }

    /// Returns the responses.
    pub(super) fn responses<'a>(&'a self, files: &'a [LedgerFile]) -> impl Iterator<Item = Response> + 'a {
        self.parts.iter().flat_map(move |part| {
            let session = files[part.file as usize].session;
            let mut last = Last::default();
            let mut input = Input(&self.bytes[part.start..part.end]);
            self.messages_of(part).map_while(move |message| {
                let mut response = self.response(&mut input, &mut last)?;
                response.count.message = message;
                Some(Response { file: part.file, session, ..response })
            })
        })
    }

    #[inline]
    fn response(&self, input: &mut Input<'_>, last: &mut Last) -> Option<Response> {
        let shape = self.shapes.get(input.small()? as usize)?;
        let fields = Fields(input.two_bytes()?);
        let [model, branch, agent, tier, geography] = shape.names;
        let flags = Flags::from_bits(shape.flags);
        let mut count = ReplyCount { model, branch, agent, tier, geography, flags, ..ReplyCount::default() };
        count.time = NO_TIME;
        if fields.has(Fields::TIME) {
            last.time = last.time.wrapping_add(input.signed()?);
            count.time = last.time;
        }
        last.line = last.line.wrapping_add(input.signed()?);
        count.line = last.line.cast_unsigned();
        count.lines = if fields.has(Fields::LINES) { input.small()? } else { 1 };
        let copies = if fields.has(Fields::COPIES) { input.small()? } else { 0 };
        if fields.has(Fields::RECORDED) {
            count.recorded = Some(input.money()?);
        }
        for (place, counter) in counters(&mut count.counters).into_iter().enumerate() {
            if fields.has(Fields::COUNTERS << place) {
                *counter = input.small()?;
            }
        }
        Some(Response { count, copies, is_kept: shape.is_kept, file: 0, session: 0 })
    }

    /// Replaces the indices of files, and removes the responses of files without a new one.
    pub(super) fn renumber(&mut self, new: &[Option<u32>]) {
        self.parts.retain_mut(|part| new[part.file as usize].map(|file| part.file = file).is_some());
    }

    /// Writes these responses and others. It must be the last that is written.
    pub(super) fn encode(&self, others: &[Response], out: &mut Output) {
        let mut packer = Packer::new(&self.shapes);
        for part in &self.parts {
            packer.copy(self, part);
        }
        let mut others: Vec<&Response> = others.iter().collect();
        others.sort_unstable_by_key(|response| (response.file, response.count.line));
        for responses in others.chunk_by(|one, other| one.file == other.file) {
            packer.add(responses);
        }
        packer.finish(out);
    }

    /// Reads what [`encode`](Self::encode) wrote from an offset on. `names` and `files` are how many of them there are.
    pub(super) fn decode(bytes: Vec<u8>, offset: usize, names: usize, files: usize) -> Option<Self> {
        let mut input = Input(bytes.get(offset..)?);
        let shapes = (0..input.length()?).map(|_| Shape::read(&mut input, names)).collect::<Option<_>>()?;
        let mut parts = Vec::new();
        let (mut messages, mut end) = (0_usize, 0_usize);
        for _ in 0..input.length()? {
            let file = input.index(files)?;
            let length = input.length()?;
            let start = end;
            end = end.checked_add(input.length()?)?;
            parts.push(Part { file, length, messages, start, end });
            messages = messages.checked_add(length.checked_mul(8)?)?;
        }
        let base = bytes.len() - input.0.len();
        for part in &mut parts {
            part.messages += base;
            part.start = part.start.checked_add(base + messages)?;
            part.end = part.end.checked_add(base + messages)?;
        }
        let is_whole = messages.checked_add(end)? == bytes.len() - base;
        is_whole.then_some(Self { shapes, parts, bytes })
    }
}

impl Shape {
    fn of(response: &Response) -> Self {
        let ReplyCount { model, branch, agent, tier, geography, flags, .. } = response.count;
        Self {
            names: [model, branch, agent, tier, geography],
            flags: flags.bits(),
            is_kept: response.is_kept,
        }
    }

    fn write(&self, out: &mut Output) {
        self.names.iter().for_each(|name| out.number(u64::from(*name)));
        out.two_bytes(self.flags);
        out.number(u64::from(self.is_kept));
    }

    fn read(input: &mut Input<'_>, names: usize) -> Option<Self> {
        let mut shape = Self::default();
        for name in &mut shape.names {
            *name = input.index(names)?;
        }
        shape.flags = input.two_bytes()?;
        shape.is_kept = input.number()? != 0;
        Some(shape)
    }
}

/// Packs responses.
struct Packer {
    shapes: Vec<Shape>,
    numbers: HashMap<Shape, usize, FixedState>,
    /// For each part, its file, the number of its responses, and the length of everything but their message ids.
    parts: Vec<[usize; 3]>,
    messages: Vec<u8>,
    rest: Output,
}

impl Packer {
    fn new(shapes: &[Shape]) -> Self {
        Self {
            shapes: shapes.to_vec(),
            numbers: shapes.iter().enumerate().map(|(number, shape)| (*shape, number)).collect(),
            parts: Vec::new(),
            messages: Vec::new(),
            rest: Output::default(),
        }
    }

    /// Adds what is packed already, with the same shapes.
    fn copy(&mut self, packed: &Packed, part: &Part) {
        self.messages.extend_from_slice(&packed.bytes[part.messages..part.messages + 8 * part.length]);
        self.rest.0.extend_from_slice(&packed.bytes[part.start..part.end]);
        self.parts.push([part.file as usize, part.length, part.end - part.start]);
    }

    /// Adds the responses of one file.
    fn add(&mut self, responses: &[&Response]) {
        let Some(first) = responses.first() else { return };
        let (start, mut last) = (self.rest.0.len(), Last::default());
        for response in responses {
            self.messages.extend_from_slice(&response.count.message.to_le_bytes());
            self.response(response, &mut last);
        }
        self.parts.push([first.file as usize, responses.len(), self.rest.0.len() - start]);
    }

    fn response(&mut self, response: &Response, last: &mut Last) {
        let mut count = response.count;
        let shape = Shape::of(response);
        let number = *self.numbers.entry(shape).or_insert(self.shapes.len());
        if number == self.shapes.len() {
            self.shapes.push(shape);
        }
        let mut fields = 0;
        for (field, is_stored) in [
            (Fields::TIME, count.time != NO_TIME),
            (Fields::LINES, count.lines != 1),
            (Fields::COPIES, response.copies > 0),
            (Fields::RECORDED, count.recorded.is_some()),
        ] {
            fields |= field * u16::from(is_stored);
        }
        for (place, counter) in counters(&mut count.counters).into_iter().enumerate() {
            fields |= (Fields::COUNTERS << place) * u16::from(*counter > 0);
        }
        let out = &mut self.rest;
        out.number(number as u64);
        out.two_bytes(fields);
        if count.time != NO_TIME {
            out.signed(count.time.wrapping_sub(last.time));
            last.time = count.time;
        }
        let line = count.line.cast_signed();
        out.signed(line.wrapping_sub(last.line));
        last.line = line;
        let small = [(count.lines, 1), (response.copies, 0)];
        small
            .iter()
            .filter(|(number, usual)| number != usual)
            .for_each(|(number, _)| out.number((*number).into()));
        if let Some(recorded) = count.recorded {
            out.money(recorded);
        }
        let counters = counters(&mut count.counters).map(|counter| *counter);
        counters.iter().filter(|counter| **counter > 0).for_each(|counter| out.number((*counter).into()));
    }

    fn finish(self, out: &mut Output) {
        out.number(self.shapes.len() as u64);
        self.shapes.iter().for_each(|shape| shape.write(out));
        out.number(self.parts.len() as u64);
        self.parts.iter().flatten().for_each(|number| out.number(*number as u64));
        out.0.extend_from_slice(&self.messages);
        out.0.extend_from_slice(&self.rest.0);
    }
}
