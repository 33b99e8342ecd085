//! The bytes that a [`FileCount`] is stored as.
//!
//! Times and line numbers are differences to those of the reply before.
//! The first byte is the version of this layout. The bytes cannot be computed anew once a transcript is gone, so that a new layout
//! must still read the old ones.

use crate::bytes::{Input, Output};
use crate::file::{FileCount, FileFacts};
use crate::reply::{Counters, Flags, NO_TIME, ReplyCount};

const VERSION: u8 = 1;

/// Bytes that are not those of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// A newer annals wrote them.
    #[error("it was written by a newer version of annals")]
    Newer,
    /// They are damaged.
    #[error("it is damaged")]
    Damaged,
}

impl FileCount {
    /// Returns the bytes to store.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Output(Vec::with_capacity(64 + 48 * self.replies().len()));
        out.0.push(VERSION);
        out.facts(&self.facts);
        out.names(self.names());
        out.number(self.replies().len() as u64);
        let (mut time, mut line) = (0, 0);
        for reply in self.replies() {
            out.reply(reply, &mut time, &mut line);
        }
        out.0
    }

    /// Reads a count from the bytes that [`encode`](Self::encode) made.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        match bytes.split_first() {
            Some((&VERSION, rest)) => decode(rest).ok_or(DecodeError::Damaged),
            Some((version, _)) if *version > VERSION => Err(DecodeError::Newer),
            _ => Err(DecodeError::Damaged),
        }
    }
}

fn decode(bytes: &[u8]) -> Option<FileCount> {
    let mut input = Input(bytes);
    let facts = input.facts()?;
    let names = input.names()?;
    let length = input.length()?;
    let mut replies = Vec::with_capacity(length);
    let (mut time, mut line) = (0, 0);
    for _ in 0..length {
        replies.push(input.reply(&mut time, &mut line)?);
    }
    input.0.is_empty().then(|| FileCount::from_parts(facts, names, replies))
}

impl Output {
    fn facts(&mut self, facts: &FileFacts) {
        self.optional_text(facts.session.as_ref());
        self.optional_text(facts.cwd.as_ref());
        self.optional_text(facts.forked_from.as_ref());
        self.number(facts.first_uuid);
        self.numbers(&facts.resets);
        self.client(facts.client.as_ref());
    }

    fn reply(&mut self, reply: &ReplyCount, time: &mut i64, line: &mut i64) {
        self.eight_bytes(reply.message);
        self.eight_bytes(reply.request);
        // One bit says whether there is a cost, another one whether there is a time.
        let has_time = reply.time != NO_TIME;
        let bits = u64::from(reply.flags.bits());
        self.number(bits << 2 | u64::from(reply.recorded.is_some()) << 1 | u64::from(has_time));
        if has_time {
            self.signed(reply.time.wrapping_sub(*time));
            *time = reply.time;
        }
        if let Some(recorded) = reply.recorded {
            self.money(recorded);
        }
        let Counters { input, output, write_5m, write_1h, write_unsplit, read, .. } = reply.counters;
        for number in [input, output, write_5m, write_1h, write_unsplit, read] {
            self.number(u64::from(number));
        }
        let Counters { thinking, web_searches, web_fetches, .. } = reply.counters;
        let names = [reply.model, reply.branch, reply.agent, reply.tier, reply.geography];
        for number in [thinking, web_searches, web_fetches].into_iter().chain(names) {
            self.number(u64::from(number));
        }
        let start = reply.line.cast_signed();
        self.signed(start.wrapping_sub(*line));
        *line = start;
        self.number(u64::from(reply.lines));
    }
}

impl Input<'_> {
    fn facts(&mut self) -> Option<FileFacts> {
        let mut facts = FileFacts::default();
        self.optional_text(&mut facts.session)?;
        self.optional_text(&mut facts.cwd)?;
        self.optional_text(&mut facts.forked_from)?;
        facts.first_uuid = self.number()?;
        facts.resets = self.numbers()?;
        self.client(&mut facts.client)?;
        Some(facts)
    }

    fn reply(&mut self, time: &mut i64, line: &mut i64) -> Option<ReplyCount> {
        let (message, request) = (self.eight_bytes()?, self.eight_bytes()?);
        let bits = self.number()?;
        let flags = Flags::from_bits(u16::try_from(bits >> 2).ok()?);
        let mut reply = ReplyCount { message, request, flags, time: NO_TIME, ..ReplyCount::default() };
        if bits & 1 != 0 {
            *time = time.wrapping_add(self.signed()?);
            reply.time = *time;
        }
        reply.recorded = if bits & 2 == 0 { None } else { Some(self.money()?) };
        let counters = &mut reply.counters;
        for number in [
            &mut counters.input,
            &mut counters.output,
            &mut counters.write_5m,
            &mut counters.write_1h,
            &mut counters.write_unsplit,
            &mut counters.read,
            &mut counters.thinking,
            &mut counters.web_searches,
            &mut counters.web_fetches,
            &mut reply.model,
            &mut reply.branch,
            &mut reply.agent,
            &mut reply.tier,
            &mut reply.geography,
        ] {
            *number = self.small()?;
        }
        *line = line.wrapping_add(self.signed()?);
        reply.line = line.cast_unsigned();
        reply.lines = self.small()?;
        Some(reply)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::file::{ClientCost, ClientModel, Line};
    use crate::money::Money;

    #[test]
    fn bytes_of_the_first_version_are_still_read() {
        let mut count = FileCount::default();
        count.facts.session = Some("s".to_owned());
        count.add(&Line { message: Some("m"), model: "x", time: 5, line: 3, ..Line::default() });
        let bytes = count.encode();
        let hex = bytes.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
        assert_eq!(
            hex,
            "0101017300000000000200017801\
             b539fb772fd275480000000000000000010a00000000000000000001000000000601"
        );
        assert_eq!(FileCount::decode(&bytes), Ok(count));
    }

    #[test]
    fn what_is_no_count_is_told() {
        assert_eq!(FileCount::decode(b"").unwrap_err(), DecodeError::Damaged);
        assert_eq!(FileCount::decode(&[VERSION + 1]).unwrap_err(), DecodeError::Newer);
        let bytes = FileCount::default().encode();
        assert_eq!(FileCount::decode(&bytes[..bytes.len() - 1]).unwrap_err(), DecodeError::Damaged);
    }

    fn counters() -> impl Strategy<Value = Counters> {
        any::<[u32; 9]>().prop_map(
            |[
                input,
                output,
                write_5m,
                write_1h,
                write_unsplit,
                read,
                thinking,
                web_searches,
                web_fetches,
            ]| {
                Counters {
                    input,
                    output,
                    write_5m,
                    write_1h,
                    write_unsplit,
                    read,
                    thinking,
                    web_searches,
                    web_fetches,
                }
            },
        )
    }

    proptest! {
        #[test]
        fn a_count_is_read_as_it_was_written(
            lines in prop::collection::vec((any::<[u8; 2]>(), counters(), any::<i64>(), any::<u16>(), any::<Option<u64>>()), 0..20),
            texts in any::<[Option<String>; 3]>(),
            cost in any::<Option<(u64, bool, String)>>(),
        ) {
            let mut count = FileCount::default();
            let [session, cwd, forked_from] = texts;
            let client = cost.map(|(cost, has_unknown_model, name)| ClientCost {
                cost: Money::from_picos(i128::from(cost)),
                has_unknown_model,
                models: vec![ClientModel { name, input: cost, ..ClientModel::default() }],
            });
            count.facts = FileFacts { session, cwd, forked_from, client, first_uuid: 9, resets: vec![-1, 1 << 60] };
            for ([message, request], counters, time, line, recorded) in lines {
                let (message, request) = (message.to_string(), request.to_string());
                let recorded = recorded.map(|picos| Money::from_picos(i128::from(picos)));
                let line = Line { message: Some(&message), request: Some(&request), model: &request, counters, time, line: line.into(), recorded, ..Line::default() };
                count.add(&line);
            }
            prop_assert_eq!(FileCount::decode(&count.encode()), Ok(count));
        }

        #[test]
        fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = FileCount::decode(&[&[VERSION], &bytes[..]].concat());
        }
    }
}
