//! Merged responses as bytes, decoded each time that they are looked at.
//!
//! That takes less time than to keep them decoded, because they need a third of the memory.
//!
//! Responses are stored file by file. What few of them differ in (names and flags) is stored once, as a [`Shape`]. What all of them have
//! is in records of the same length, which are decoded fastest; what few of them have follows after the records of a file. The
//! hashes of message ids are stored apart, so that they can be looked through without the rest.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::{LedgerFile, Response};
use crate::bytes::{Input, Output};
use crate::names::NameId;
use crate::reply::{Counters, Flags, ReplyCount};

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
    /// Where the records begin, and after them what few responses have.
    start: usize,
    end: usize,
}

/// The length of a record: time, five counters, line, number of lines, shape, and which of the rarer fields there are.
const RECORD: usize = 8 + 5 * 4 + 3 * 4 + 2;

/// The bit of a recorded cost in the set of rarer fields; before it are those of [`rare`].
const RECORDED: u16 = 1 << 5;

/// Returns the counters that nearly all responses have.
fn common(counters: &mut Counters) -> [&mut u32; 5] {
    let Counters { input, output, write_5m, write_1h, read, .. } = counters;
    [input, output, write_5m, write_1h, read]
}

/// Returns the rarer fields, without the recorded cost. Those that are 0 are not stored.
fn rare(response: &mut Response) -> [&mut u32; 5] {
    let Response { count, copies, .. } = response;
    let Counters { write_unsplit, thinking, web_searches, web_fetches, .. } = &mut count.counters;
    [copies, write_unsplit, thinking, web_searches, web_fetches]
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

    /// Returns the responses of one half of the files, or of the other.
    pub(super) fn responses<'a>(
        &'a self,
        files: &'a [LedgerFile],
        is_first: bool,
    ) -> impl Iterator<Item = Response> + 'a {
        let (first, second) = self.parts.split_at(self.parts.len() / 2);
        let parts = if is_first { first } else { second };
        parts.iter().flat_map(move |part| {
            let session = files[part.file as usize].session;
            let (records, rest) = self.bytes[part.start..part.end].split_at(RECORD * part.length);
            let mut rest = Input(rest);
            let (records, _) = records.as_chunks::<RECORD>();
            self.messages_of(part).zip(records).map_while(move |(message, record)| {
                let mut response = self.response(record, &mut rest)?;
                response.count.message = message;
                Some(Response { file: part.file, session, ..response })
            })
        })
    }

    #[inline]
    fn response(&self, record: &[u8; RECORD], rest: &mut Input<'_>) -> Option<Response> {
        let mut record = Input(record);
        let time = record.eight_bytes()?.cast_signed();
        let mut counters = Counters::default();
        for counter in common(&mut counters) {
            *counter = record.four_bytes()?;
        }
        let (line, lines, shape) = (record.four_bytes()?, record.four_bytes()?, record.four_bytes()?);
        let shape = self.shapes.get(shape as usize)?;
        let [model, branch, agent, tier, geography] = shape.names;
        let count = ReplyCount {
            time,
            counters,
            model,
            branch,
            agent,
            tier,
            geography,
            flags: Flags::from_bits(shape.flags),
            line: u64::from(line),
            lines,
            ..ReplyCount::default()
        };
        let mut response = Response { count, file: 0, session: 0, copies: 0, is_kept: shape.is_kept };
        let fields = record.two_bytes()?;
        if fields != 0 {
            read_rare(&mut response, fields, rest)?;
        }
        Some(response)
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
            if end - start < length.checked_mul(RECORD)? {
                return None;
            }
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

/// Reads the rarer fields of a response.
fn read_rare(response: &mut Response, fields: u16, input: &mut Input<'_>) -> Option<()> {
    for (place, field) in rare(response).into_iter().enumerate() {
        if fields & 1 << place != 0 {
            *field = input.small()?;
        }
    }
    if fields & RECORDED != 0 {
        response.count.recorded = Some(input.money()?);
    }
    Some(())
}

/// Writes the rarer fields that a response has. Returns which they are.
fn write_rare(mut response: Response, out: &mut Output) -> u16 {
    let mut fields = 0;
    for (place, field) in rare(&mut response).into_iter().enumerate() {
        if *field != 0 {
            fields |= 1 << place;
            out.number(u64::from(*field));
        }
    }
    if let Some(recorded) = response.count.recorded {
        fields |= RECORDED;
        out.money(recorded);
    }
    fields
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
        let (start, mut rare) = (self.rest.0.len(), Output::default());
        for response in responses {
            self.messages.extend_from_slice(&response.count.message.to_le_bytes());
            self.add_record(response);
            let fields = write_rare(**response, &mut rare);
            self.rest.two_bytes(fields);
        }
        self.rest.0.append(&mut rare.0);
        self.parts.push([first.file as usize, responses.len(), self.rest.0.len() - start]);
    }

    fn add_record(&mut self, response: &Response) {
        let shape = Shape::of(response);
        let number = *self.numbers.entry(shape).or_insert(self.shapes.len());
        if number == self.shapes.len() {
            self.shapes.push(shape);
        }
        let ReplyCount { time, mut counters, line, lines, .. } = response.count;
        self.rest.eight_bytes(time.cast_unsigned());
        for counter in common(&mut counters) {
            self.rest.four_bytes(*counter);
        }
        // No file has so many lines or names that a number does not fit.
        self.rest.four_bytes(u32::try_from(line).unwrap_or(u32::MAX));
        self.rest.four_bytes(lines);
        self.rest.four_bytes(u32::try_from(number).unwrap_or(u32::MAX));
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
