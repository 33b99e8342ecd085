//! Spellings of models: Bedrock, Vertex, Foundry and gateways have names of their own for the same model.

use super::PriceRow;

/// What the spelling of a model says beside its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spelling {
    endpoint: Endpoint,
    /// Whether the name is that of the fast mode.
    pub(super) is_fast: bool,
}

/// The endpoint of Bedrock that a name has before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Endpoint {
    #[default]
    Global,
    Regional,
    Government,
}

/// Prefixes of inference profiles.
const PROFILES: [(&str, Endpoint); 7] = [
    ("us-gov.", Endpoint::Government),
    ("us.", Endpoint::Regional),
    ("eu.", Endpoint::Regional),
    ("apac.", Endpoint::Regional),
    ("au.", Endpoint::Regional),
    ("jp.", Endpoint::Regional),
    ("global.", Endpoint::Global),
];

/// What gateways put behind a name to choose how much the model thinks. It does not change the price.
const EFFORTS: [&str; 6] = ["-thinking", ":thinking", "-think", "-xhigh", "-high", ":beta"];

impl Spelling {
    /// Looks a model up in all spellings that mean the same, from the closest one on.
    pub(super) fn find<T>(model: &str, look_up: impl Fn(&str) -> Option<T>) -> Option<(T, Self)> {
        let lower = model.trim().to_lowercase();
        let mut name = lower.as_str();
        while let Some(rest) = name.strip_suffix("[1m]") {
            name = rest;
        }
        let mut spelling = Self::default();
        if let Some(found) = look_up(name) {
            return Some((found, spelling));
        }
        name = name.rsplit('/').next().unwrap_or(name);
        for (profile, endpoint) in PROFILES {
            if let Some(rest) = name.strip_prefix(profile).filter(|rest| rest.starts_with("anthropic.")) {
                (name, spelling.endpoint) = (rest, endpoint);
                break;
            }
        }
        name = name.strip_prefix("anthropic.").or_else(|| name.strip_prefix("anthropic--")).unwrap_or(name);
        if let Some(found) = look_up(name) {
            return Some((found, spelling));
        }
        for effort in EFFORTS {
            name = name.strip_suffix(effort).unwrap_or(name);
        }
        if let Some(rest) = name.strip_suffix("-fast") {
            (name, spelling.is_fast) = (rest, true);
        }
        let name = without_date(without_version(name)).replace('.', "-");
        let names = [Some(name.clone()), tier_before_number(&name)];
        let found = names.into_iter().flatten().find_map(|name| look_up(&name))?;
        Some((found, spelling))
    }

    /// Returns the factor of the endpoint, in thousandths.
    pub(super) fn factor(self, row: &PriceRow) -> u32 {
        match self.endpoint {
            Endpoint::Global => 1000,
            Endpoint::Regional => row.regional,
            Endpoint::Government => 1200,
        }
    }
}

/// Removes the version of a model of Bedrock, such as `-v1:0`, and that of Vertex, such as `@20250514` or `@default`.
fn without_version(name: &str) -> &str {
    let name = name.split('@').next().unwrap_or(name);
    let Some((start, version)) = name.rsplit_once("-v") else { return name };
    let is_version = version.starts_with(|first: char| first.is_ascii_digit())
        && version.bytes().all(|byte| byte.is_ascii_digit() || byte == b':');
    if is_version { start } else { name }
}

/// Removes a date. Any other number belongs to the name.
fn without_date(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((start, date)) if date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit()) => start,
        _ => name,
    }
}

/// Turns `claude-4-6-sonnet` into `claude-sonnet-4-6`.
fn tier_before_number(name: &str) -> Option<String> {
    let (number, tier) = name.strip_prefix("claude-")?.rsplit_once('-')?;
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let is_tier = !tier.is_empty() && tier.bytes().all(|byte| byte.is_ascii_lowercase());
    (is_number && is_tier).then(|| format!("claude-{tier}-{number}"))
}
