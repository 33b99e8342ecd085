use super::*;
use crate::reply::{Flags, NO_TIME};

fn time(day: &str) -> i64 {
    start_of(day.parse().unwrap())
}

/// A reply on a day with a hundred thousand tokens of each kind but output, of which there are ten thousand.
fn reply(day: &str) -> ReplyCount {
    let counters = Counters {
        input: 10_000,
        output: 10_000,
        write_5m: 10_000,
        write_1h: 10_000,
        read: 100_000,
        ..Counters::default()
    };
    ReplyCount { time: time(day), counters, ..ReplyCount::default() }
}

fn cost(model: &str, reply: &ReplyCount) -> Option<String> {
    Prices::built_in().of(model)?.cost(reply, false).map(|cost| cost.to_string())
}

/// The bills are computed by hand: input / 100 + output / 100 + 5 minutes / 100 + 1 hour / 100 + read / 10.
#[test]
fn every_model_has_the_bill_that_its_list_price_gives() {
    for (model, day, bill) in [
        // 0.15 + 0.75 + 0.1875 + 0.30 + 0.15
        ("claude-3-opus-20240229", "2024-06-01", "1.537500"),
        // 0.0025 + 0.0125 + 0.003 + 0.005 + 0.003
        ("claude-3-haiku-20240307", "2024-06-01", "0.026000"),
        // 0.03 + 0.15 + 0.0375 + 0.06 + 0.03
        ("claude-3-5-sonnet-20240620", "2024-07-01", "0.307500"),
        ("claude-3-5-sonnet-20241022", "2025-01-01", "0.307500"),
        ("claude-3-7-sonnet-20250219", "2025-03-01", "0.307500"),
        ("claude-sonnet-4-20250514", "2025-06-01", "0.307500"),
        ("claude-sonnet-4-5-20250929", "2025-10-01", "0.307500"),
        ("claude-sonnet-4-6", "2026-05-01", "0.307500"),
        // 0.01 + 0.05 + 0.0125 + 0.02 + 0.01, then 0.008 + 0.04 + 0.01 + 0.016 + 0.008
        ("claude-3-5-haiku-20241022", "2024-11-30", "0.102500"),
        ("claude-3-5-haiku-20241022", "2024-12-01", "0.082000"),
        ("claude-haiku-4-5-20251001", "2026-01-01", "0.102500"),
        ("claude-opus-4-20250514", "2025-06-01", "1.537500"),
        ("claude-opus-4-1-20250805", "2025-09-01", "1.537500"),
        // 0.05 + 0.25 + 0.0625 + 0.10 + 0.05
        ("claude-opus-4-5-20251101", "2026-01-01", "0.512500"),
        ("claude-opus-4-6", "2026-02-10", "0.512500"),
        ("claude-opus-4-7", "2026-05-01", "0.512500"),
        ("claude-opus-4-8", "2026-06-01", "0.512500"),
        ("claude-opus-5", "2026-08-01", "0.512500"),
        // 0.10 + 0.50 + 0.125 + 0.20 + 0.10, and with reads at a quarter
        ("claude-fable-5", "2026-07-01", "1.025000"),
        ("claude-mythos-5", "2026-07-01", "1.025000"),
        ("claude-fable-5-1", "2026-09-02", "0.950000"),
        ("claude-mythos-5-1", "2026-09-02", "0.950000"),
        // 0.02 + 0.10 + 0.025 + 0.04 + 0.02, and with reads at a half
        ("claude-sonnet-5", "2026-07-01", "0.205000"),
        ("claude-sonnet-5-5", "2026-10-06", "0.205000"),
        ("claude-sonnet-5-5", "2026-10-07", "0.195000"),
        // 0.04 + 0.20 + 0.05 + 0.08 + 0.02
        ("claude-opus-5-5", "2026-10-01", "0.390000"),
        // The prompt has 130,000 tokens, which is above the band: 0.005 + 0.025 + 0.00625 + 0.01 + 0.005
        ("claude-haiku-5-5", "2026-10-08", "0.051250"),
        // 0.006 + 0.022 + 0 + 0 + 0.011
        ("glm-4.6", "2026-03-01", "0.039000"),
    ] {
        assert_eq!(cost(model, &reply(day)).as_deref(), Some(bill), "{model} on {day}");
    }
}

#[test]
fn the_whole_prompt_decides_on_the_band_and_all_tokens_cost_its_price() {
    let counters = |input, read| Counters { input, output: 1_000_000, read, ..Counters::default() };
    let at = |day, counters| ReplyCount { time: time(day), counters, ..ReplyCount::default() };
    // Exactly 200,000 tokens are not above: 0.3 + 15 + 0.03
    let below = at("2025-10-01", counters(100_000, 100_000));
    assert_eq!(cost("claude-sonnet-4-5", &below).as_deref(), Some("15.330000"));
    // One more is: 0.600006 + 22.5 + 0.06
    let above = at("2025-10-01", counters(100_001, 100_000));
    assert_eq!(cost("claude-sonnet-4-5", &above).as_deref(), Some("23.160006"));
    // Opus 4.6 has no band since 13 March 2026: 1 + 37.5 + 0.2, then 0.5 + 25 + 0.1
    for (day, bill) in [("2026-03-12", "38.700010"), ("2026-03-13", "25.600005")] {
        let long = at(day, counters(100_001, 200_000));
        assert_eq!(cost("claude-opus-4-6", &long).as_deref(), Some(bill), "{day}");
    }
    // Several bands.
    for (input, bill) in
        [(32_000, "5.032000"), (32_001, "9.057602"), (128_001, "15.384003"), (256_001, "61.536006")]
    {
        let reply = at("2026-01-01", counters(input, 0));
        assert_eq!(cost("qwen3-coder-plus", &reply).as_deref(), Some(bill), "{input}");
    }
}

#[test]
fn fast_mode_and_geography_multiply_tokens_but_not_searches() {
    let prices = Prices::built_in();
    let price = prices.of("claude-opus-4-8").unwrap();
    let mut reply = reply("2026-06-01");
    reply.counters.web_searches = 3;
    let bill = |reply: &ReplyCount, is_us| price.cost(reply, is_us).unwrap().to_string();
    assert_eq!(bill(&reply, false), "0.542500");
    assert_eq!(bill(&reply, true), "0.593750");
    reply.flags.set(Flag::Fast, true);
    assert_eq!(bill(&reply, false), "1.055000");
    assert_eq!(bill(&reply, true), "1.157500");
    // A model without a fast mode has no price for it.
    assert_eq!(prices.of("claude-sonnet-5").unwrap().cost(&reply, false), None);
}

#[test]
fn a_price_that_no_source_states_is_missing_only_where_tokens_need_it() {
    let without_cache = ReplyCount {
        counters: Counters { input: 1_000_000, output: 1_000_000, ..Counters::default() },
        ..reply("2024-06-01")
    };
    assert_eq!(cost("claude-3-sonnet-20240229", &without_cache).as_deref(), Some("18.000000"));
    assert_eq!(cost("claude-3-sonnet-20240229", &reply("2024-06-01")), None);
}

#[test]
fn cache_writes_without_a_lifetime_cost_what_five_minutes_cost() {
    let counters = Counters { write_unsplit: 1_000_000, ..Counters::default() };
    let reply = ReplyCount { counters, time: NO_TIME, flags: Flags::default(), ..ReplyCount::default() };
    assert_eq!(cost("claude-opus-4-8", &reply).as_deref(), Some("6.250000"));
}

#[test]
fn spellings_of_clouds_and_gateways_are_found() {
    let reply = reply("2026-06-01");
    for (model, bill) in [
        ("claude-opus-4-8[1m]", "0.512500"),
        ("claude-opus-4-8[1M][1m]", "0.512500"),
        ("global.anthropic.claude-opus-4-8", "0.512500"),
        ("anthropic.claude-opus-4-6-v1", "0.512500"),
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", "0.563750"),
        ("bedrock/us-east-1/anthropic.claude-opus-4-5-20251101-v1:0", "0.512500"),
        ("us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0", "0.369000"),
        ("eu.anthropic.claude-sonnet-4-20250514-v1:0", "0.307500"),
        ("claude-opus-4-5@20251101", "0.512500"),
        ("vertex_ai/claude-sonnet-4-6@default", "0.307500"),
        ("vertex_ai/claude-3-5-haiku@20241022", "0.102500"),
        ("azure_ai/claude-opus-5-5-fast", "0.780000"),
        ("openrouter/anthropic/claude-opus-4.6", "0.512500"),
        ("claude-4-6-sonnet", "0.307500"),
        ("anthropic--claude-4.6-opus", "0.512500"),
        ("claude-sonnet-4-6-thinking", "0.307500"),
        ("anthropic/claude-opus-4.8:thinking", "0.512500"),
        ("claude-haiku-4-5", "0.102500"),
        ("Claude-Haiku-4-5-20260101", "0.102500"),
    ] {
        assert_eq!(cost(model, &reply).as_deref(), Some(bill), "{model}");
    }
}

#[test]
fn an_unknown_model_has_no_price_and_never_that_of_a_relative() {
    for model in [
        "",
        "claude-opus-6",
        "claude-opus-5-6",
        "claude-opus-4-55",
        "claude-opus",
        "gpt-5",
        "__proto__",
        "<synthetic>",
        "claude-5",
        "-fast",
        "[1m]",
    ] {
        assert!(Prices::built_in().of(model).is_none(), "{model}");
    }
}

#[test]
fn a_users_own_prices_replace_those_of_a_model() {
    let own = r#"
        [[price]]
        model = "claude-opus-4-8"
        from = "2026-06-01"
        input = 1
        output = 2.5
        long = { above = 100000, input = 10, output = 10 }

        [[price]]
        model = "house-model"
        input = 0.5
        output = 1
        cache_read = 0
        fast = 3
        web_search = 0.02
    "#;
    let prices = Prices::built_in().with_own(own).unwrap();
    let counters = Counters { input: 100_000, output: 100_000, web_searches: 1, ..Counters::default() };
    let reply = ReplyCount { counters, time: time("2026-06-01"), ..ReplyCount::default() };
    let bill = |model: &str, reply: &ReplyCount| {
        prices.of(model).unwrap().cost(reply, false).map(|cost| cost.to_string())
    };
    assert_eq!(bill("house-model", &reply).as_deref(), Some("0.170000"));
    // The user has not said what a search costs.
    assert_eq!(bill("claude-opus-4-8", &reply), None);
    let plain = ReplyCount { counters: Counters { web_searches: 0, ..counters }, ..reply };
    assert_eq!(bill("claude-opus-4-8", &plain).as_deref(), Some("0.350000"));
    let long = ReplyCount { counters: Counters { read: 1, ..plain.counters }, ..plain };
    assert_eq!(bill("claude-opus-4-8", &long), None);
    assert!(prices.is_own("House-Model") && !prices.is_own("claude-opus-5"));
}

#[test]
fn a_mistake_in_a_users_prices_names_its_line() {
    for (own, line, message) in [
        ("[[price]]\nmodel = \"x\"\ninput = -1\noutput = 1\n", 3, "a price is a number from 0 to 1000000"),
        ("[[price]]\nmodel = \"x\"\ninput = nan\noutput = 1\n", 3, "a price is a number from 0 to 1000000"),
        ("[[price]]\nmodel = \"\"\ninput = 1\noutput = 1\n", 2, "the name of the model is empty"),
        (
            "[[price]]\nmodel = \"x\"\nfrom = \"soon\"\ninput = 1\noutput = 1\n",
            3,
            "`from` is a day such as \"2026-01-31\"",
        ),
        ("\n[[price]]\nmodel = \"x\"\noutput = 1\n", 2, "missing field `input`"),
        ("[[price]]\nmodel = \"x\"\ninput = 1\noutput = 1\ncache = 1\n", 5, "unknown field `cache`"),
        (
            "[[price]]\nmodel = \"x\"\ninput = \"1\"\noutput = 1\n",
            3,
            "invalid type: string \"1\", expected a number from 0 to 1000000",
        ),
        ("[[price]\n", 1, ""),
    ] {
        let error = Prices::built_in().with_own(own).unwrap_err();
        assert_eq!(error.line, line, "{own} {error}");
        assert!(error.message.starts_with(message), "{error}");
    }
}

#[test]
fn the_table_is_in_order() {
    let prices = Prices::built_in();
    for row in prices.rows() {
        assert!(row.rates.input.is_some() && row.rates.output.is_some(), "{}", row.model);
        assert!(row.bands.is_sorted_by_key(|(above, _)| *above), "{}", row.model);
        let price = prices.of(&row.model).unwrap();
        let on_its_day = price.row_at(row.from.map_or(NO_TIME, start_of));
        assert_eq!(on_its_day, row, "two rows of {} begin on the same day", row.model);
    }
}
