//! From a line of a transcript to what is counted of it (section 2 of `docs/USAGE.md`).
//!
//! Only lines that may have counters are read: nearly all bytes of a transcript are in others, which a search for one word skips.

use std::borrow::Cow;
use std::sync::LazyLock;

use annals_transcript::entry::parse_time;
use annals_transcript::json::{JsonStr, Value};
use annals_transcript::turn::Tokens;
use annals_transcript::{Entry, Kind};
use annals_usage::{
    ClientCost, ClientModel, Counters, FileCount, Flag, Flags, Line, Money, NO_TIME, stable_hash,
};
use jiff::Timestamp;
use memchr::memmem::Finder;

static USAGE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"usage\""));
static COST_STATE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"cost-state\""));
static LIMIT: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"usage limit reached|"));

/// Claude Code writes the type of a `cost-state` first.
const TYPE_WITHIN: usize = 256;
/// The facts of a file, such as its first working directory, are looked for in so many lines at its start.
const FACTS_WITHIN: u64 = 64;
/// The model of replies that Claude Code wrote itself.
const SYNTHETIC: &str = "<synthetic>";

/// Adds the lines of one file to what is counted of it.
pub(super) struct LineCounter<'a> {
    pub(super) count: &'a mut FileCount,
    /// The session that the path of the file names.
    pub(super) session: Option<&'a str>,
}

/// The tokens of one transcript by the rules of usage: each reply once, with the largest of its counters.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TokenCount(FileCount);

impl Eq for TokenCount {}

impl TokenCount {
    /// Adds an entry. What a session repeats of its subagents is not its own.
    pub(crate) fn add(&mut self, entry: &Entry<'_>) {
        let may_be_reply = entry.kind() == Kind::Assistant || entry.head().type_name.is_none();
        if let Some(body) = entry.body().filter(|_| may_be_reply) {
            LineCounter { count: &mut self.0, session: None }.add(body, entry.at().line);
        }
    }

    /// Returns the sum.
    pub(crate) fn total(&self) -> Tokens {
        let mut total = Tokens::default();
        for reply in self.0.replies() {
            let counters = &reply.counters;
            total.input += u64::from(counters.input);
            total.output += u64::from(counters.output);
            total.cache_creation += u64::from(counters.write_5m)
                + u64::from(counters.write_1h)
                + u64::from(counters.write_unsplit);
            total.cache_read += u64::from(counters.read);
        }
        total
    }
}

/// A line that is not one object.
#[derive(Debug)]
pub(super) struct Irregular;

impl LineCounter<'_> {
    /// Adds a line without its newline, unless it is irregular.
    pub(super) fn add_line(&mut self, line: &[u8], number: u64) -> Result<(), Irregular> {
        let line = line.trim_ascii();
        match (line.first(), line.last()) {
            (None, _) => return Ok(()),
            (Some(b'{'), Some(b'}')) => {}
            _ => return Err(Irregular),
        }
        let start = &line[..line.len().min(TYPE_WITHIN)];
        if self.lacks_facts(number) || USAGE.find(line).is_some() || COST_STATE.find(start).is_some() {
            self.add(Value::new(line).ok_or(Irregular)?, number);
        }
        Ok(())
    }

    fn lacks_facts(&self, number: u64) -> bool {
        let facts = &self.count.facts;
        number <= FACTS_WITHIN && (facts.cwd.is_none() || facts.session.is_none() || facts.first_uuid == 0)
    }

    /// Adds an entry.
    pub(super) fn add(&mut self, entry: Value<'_>, number: u64) {
        let fields = Fields::of(entry);
        if self.lacks_facts(number) {
            self.add_facts(&fields);
        }
        match fields.kind.map(JsonStr::raw) {
            Some(b"assistant") | None => self.add_reply(&fields, Flags::default(), "", number),
            Some(b"progress") => self.add_progress(&fields, number),
            Some(b"cost-state") => self.add_client(entry, &fields),
            _ => {}
        }
    }

    fn add_facts(&mut self, fields: &Fields<'_>) {
        let facts = &mut self.count.facts;
        if facts.session.is_none() {
            facts.session = decoded(fields.session).map(Cow::into_owned);
        }
        if facts.cwd.is_none() {
            facts.cwd = decoded(fields.cwd).map(Cow::into_owned);
        }
        if let Some(uuid) = fields.uuid.filter(|_| facts.first_uuid == 0) {
            facts.first_uuid = stable_hash(&["uuid", &uuid.decode()]);
            facts.forked_from =
                fields.forked_from.and_then(|origin| origin.text("sessionId")).map(Into::into);
        }
    }

    /// Adds the message of a subagent that its parent session repeats.
    fn add_progress(&mut self, fields: &Fields<'_>, number: u64) {
        let Some(data) =
            fields.data.filter(|data| data.text("type").is_some_and(|kind| kind == "agent_progress"))
        else {
            return;
        };
        let Some(message) = data.present("message") else { return };
        let mut inner = Fields::of(message);
        if inner.kind.is_none_or(|kind| kind != *"assistant") {
            return;
        }
        inner.branch = inner.branch.or(fields.branch);
        inner.timestamp = inner.timestamp.or(fields.timestamp);
        let mut flags = Flags::default();
        flags.set(Flag::Progress, true);
        flags.set(Flag::Sidechain, true);
        flags.set(Flag::Copy, self.is_copy(fields));
        let agent = data.text("agentId").unwrap_or_default();
        self.add_reply(&inner, flags, &agent, number);
    }

    fn add_reply(&mut self, fields: &Fields<'_>, mut flags: Flags, agent: &str, number: u64) {
        let Some(message) = fields.message else { return };
        let message = Message::of(message);
        let is_reply = fields.kind.is_some() || message.role.is_some_and(|role| role == *"assistant");
        let Some(usage) = message.usage.filter(|usage| usage.is_object() && is_reply) else { return };
        let model = message.model.map(JsonStr::decode).unwrap_or_default();
        if model == SYNTHETIC || fields.is_api_error {
            self.add_limit(message.content);
            return;
        }
        let usage = Usage::of(usage);
        flags.set(Flag::Finished, message.has_stop_reason);
        flags.set(Flag::Sidechain, fields.is_sidechain);
        flags.set(Flag::Copy, self.is_copy(fields));
        flags.set(Flag::Fast, usage.is_fast);
        flags.set(Flag::Odd, usage.is_odd);
        let (id, request, uuid) = (decoded(message.id), decoded(fields.request), decoded(fields.uuid));
        let branch = decoded(fields.branch).unwrap_or_default();
        let (tier, geography) =
            (decoded(usage.tier).unwrap_or_default(), decoded(usage.geography).unwrap_or_default());
        let line = Line {
            message: id.as_deref(),
            request: request.as_deref(),
            uuid: uuid.as_deref(),
            advisor: None,
            time: fields.timestamp.and_then(parse_time).map_or(NO_TIME, Timestamp::as_millisecond),
            model: &model,
            branch: &branch,
            agent,
            tier: &tier,
            geography: &geography,
            counters: usage.counters,
            recorded: dollars(fields.cost),
            flags,
            line: number,
        };
        self.count.add(&line);
        self.add_advisors(&line, usage.iterations);
    }

    /// Adds the calls of advisors, which are requests of their own and not part of the counters of the reply. Other iterations repeat the
    /// reply, or were not billed.
    fn add_advisors(&mut self, reply: &Line<'_>, iterations: Option<Value<'_>>) {
        let calls = iterations.into_iter().flat_map(Value::items);
        let calls = calls.filter(|call| call.text("type").is_some_and(|kind| kind == "advisor_message"));
        for (index, call) in (0..).zip(calls) {
            let usage = Usage::of(call);
            let model = call.text("model").unwrap_or_default();
            let mut flags = reply.flags;
            flags.set(Flag::Odd, usage.is_odd);
            self.count.add(&Line {
                advisor: Some(index),
                model: &model,
                counters: usage.counters,
                recorded: None,
                flags,
                ..*reply
            });
        }
    }

    /// Returns whether a line was copied from another session.
    fn is_copy(&self, fields: &Fields<'_>) -> bool {
        let is_fork = fields.forked_from.is_some_and(|origin| !origin.is_null());
        is_fork || self.session.zip(fields.session).is_some_and(|(session, named)| named != *session)
    }

    /// Adds the end of a window that a message about a reached limit names: seconds since 1970 behind a bar.
    fn add_limit(&mut self, content: Option<Value<'_>>) {
        let Some(content) = content else { return };
        let Some(at) = LIMIT.find(content.bytes()) else { return };
        let digits =
            content.bytes()[at + LIMIT.needle().len()..].iter().take_while(|byte| byte.is_ascii_digit());
        let seconds = digits.take(12).fold(0_i64, |number, digit| number * 10 + i64::from(digit - b'0'));
        let end = seconds * 1000;
        if seconds > 0 && !self.count.facts.resets.contains(&end) {
            self.count.facts.resets.push(end);
        }
    }

    /// Replaces what Claude Code itself counted; the last record has everything.
    fn add_client(&mut self, entry: Value<'_>, fields: &Fields<'_>) {
        if self.is_copy(fields) {
            return;
        }
        let Some(cost) = dollars(entry.get("totalCostUSD")) else { return };
        let mut client =
            ClientCost { cost, has_unknown_model: entry.flag("hasUnknownModelCost"), models: Vec::new() };
        for (name, model) in entry.get("modelUsage").into_iter().flat_map(Value::members) {
            client.models.push(ClientModel {
                name: name.decode().into_owned(),
                input: model.number("inputTokens").unwrap_or(0),
                output: model.number("outputTokens").unwrap_or(0),
                writes: model.number("cacheCreationInputTokens").unwrap_or(0),
                read: model.number("cacheReadInputTokens").unwrap_or(0),
                cost: dollars(model.get("costUSD")).unwrap_or_default(),
            });
        }
        self.count.facts.client = Some(client);
    }
}

fn dollars(value: Option<Value<'_>>) -> Option<Money> {
    value.and_then(Value::as_f64).and_then(Money::from_dollars)
}

fn decoded(text: Option<JsonStr<'_>>) -> Option<Cow<'_, str>> {
    text.map(JsonStr::decode)
}

/// The fields of an entry that count, read in one pass.
#[derive(Default)]
struct Fields<'a> {
    kind: Option<JsonStr<'a>>,
    uuid: Option<JsonStr<'a>>,
    timestamp: Option<JsonStr<'a>>,
    session: Option<JsonStr<'a>>,
    request: Option<JsonStr<'a>>,
    branch: Option<JsonStr<'a>>,
    cwd: Option<JsonStr<'a>>,
    forked_from: Option<Value<'a>>,
    message: Option<Value<'a>>,
    data: Option<Value<'a>>,
    cost: Option<Value<'a>>,
    is_sidechain: bool,
    is_api_error: bool,
}

impl<'a> Fields<'a> {
    fn of(entry: Value<'a>) -> Self {
        let mut fields = Self::default();
        for (key, value) in entry.members() {
            match key.raw() {
                b"type" => fields.kind = value.as_str(),
                b"uuid" => fields.uuid = value.as_str(),
                b"timestamp" => fields.timestamp = value.as_str(),
                b"sessionId" => fields.session = value.as_str(),
                b"requestId" => fields.request = value.as_str(),
                b"gitBranch" => fields.branch = value.as_str(),
                b"cwd" => fields.cwd = value.as_str(),
                b"forkedFrom" => fields.forked_from = Some(value),
                b"message" => fields.message = Some(value),
                b"data" => fields.data = Some(value),
                b"costUSD" => fields.cost = Some(value),
                b"isSidechain" => fields.is_sidechain = value.as_bool() == Some(true),
                b"isApiErrorMessage" => fields.is_api_error = value.as_bool() == Some(true),
                _ => {}
            }
        }
        fields
    }
}

/// The fields of a message that count.
#[derive(Default)]
struct Message<'a> {
    id: Option<JsonStr<'a>>,
    role: Option<JsonStr<'a>>,
    model: Option<JsonStr<'a>>,
    usage: Option<Value<'a>>,
    content: Option<Value<'a>>,
    has_stop_reason: bool,
}

impl<'a> Message<'a> {
    fn of(message: Value<'a>) -> Self {
        let mut fields = Self::default();
        for (key, value) in message.members() {
            match key.raw() {
                b"id" => fields.id = value.as_str().filter(|id| !id.raw().is_empty()),
                b"role" => fields.role = value.as_str(),
                b"model" => fields.model = value.as_str(),
                b"usage" => fields.usage = Some(value),
                b"content" => fields.content = Some(value),
                b"stop_reason" => fields.has_stop_reason = !value.is_null(),
                _ => {}
            }
        }
        fields
    }
}

/// The counters of a reply or of an iteration.
#[derive(Default)]
struct Usage<'a> {
    counters: Counters,
    tier: Option<JsonStr<'a>>,
    geography: Option<JsonStr<'a>>,
    iterations: Option<Value<'a>>,
    is_fast: bool,
    /// Whether a counter is not a number that is possible.
    is_odd: bool,
}

impl<'a> Usage<'a> {
    fn of(usage: Value<'a>) -> Self {
        let mut found = Self::default();
        let (mut writes, mut five_minutes, mut hour) = (0, 0, 0);
        for (key, value) in usage.members() {
            match key.raw() {
                b"input_tokens" => found.counters.input = found.number(value),
                b"output_tokens" => found.counters.output = found.number(value),
                b"cache_creation_input_tokens" => writes = found.number(value),
                b"cache_read_input_tokens" => found.counters.read = found.number(value),
                b"cache_creation" => {
                    five_minutes = found.member(value, "ephemeral_5m_input_tokens");
                    hour = found.member(value, "ephemeral_1h_input_tokens");
                }
                b"server_tool_use" => {
                    found.counters.web_searches = found.member(value, "web_search_requests");
                    found.counters.web_fetches = found.member(value, "web_fetch_requests");
                }
                b"output_tokens_details" => found.counters.thinking = found.member(value, "thinking_tokens"),
                b"service_tier" => found.tier = value.as_str(),
                b"inference_geo" => found.geography = value.as_str(),
                b"speed" => found.is_fast = value.as_str().is_some_and(|speed| speed == *"fast"),
                b"iterations" => found.iterations = Some(value),
                _ => {}
            }
        }
        found.counters.set_writes(writes, five_minutes, hour);
        found
    }

    /// Reads a counter. What is no whole number, or too large to be one, is left out and noted: nothing is invented.
    fn number(&mut self, value: Value<'_>) -> u32 {
        if value.is_null() {
            return 0;
        }
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        self.is_odd |= number.is_none();
        number.unwrap_or(0)
    }

    fn member(&mut self, object: Value<'_>, key: &str) -> u32 {
        object.get(key).map_or(0, |value| self.number(value))
    }
}

#[cfg(test)]
mod tests;
