//! `fault` block of a resource or provider configuration, and the attributes for latency.

use sdk::schema::{Attr, Block, Nested, Nesting};
use sdk::{Diagnostic, Object};

use super::fault::{Fault, Kind, On};

/// Latency attributes with the calls that they delay.
pub(super) const LATENCIES: [(&str, On); 4] = [
    ("create_ms", On::Create),
    ("read_ms", On::Read),
    ("update_ms", On::Update),
    ("delete_ms", On::Delete),
];

/// Attributes and blocks that configure faults and latencies; they are not part of the object in
/// the lab.
pub(super) const SWITCHES: [&str; 6] = [
    "create_ms",
    "read_ms",
    "update_ms",
    "delete_ms",
    READY_MS,
    "fault",
];

/// Attribute with the time that a new object needs after its create.
pub(super) const READY_MS: &str = "ready_ms";

/// Returns the attributes for latency.
pub(super) fn latencies() -> impl Iterator<Item = Attr> {
    let latency = |(name, on): (&'static str, On)| {
        let text = format!("Duration of each {}, in milliseconds.", on.as_str());
        (name, text)
    };
    let ready = "Time for which a new object has the status `creating`, in milliseconds.";
    let all = LATENCIES.into_iter().map(latency);
    all.chain([(READY_MS, ready.to_owned())])
        .map(|(name, text)| {
            Attr::number(name).describe(&text).check(|value| {
                match value.as_number().and_then(cty::Number::to_u64) {
                    Some(ms) if ms <= 3_600_000 => Ok(()),
                    _ => Err(
                        "must be a whole number of milliseconds from 0 to 3600000 (an hour)".into(),
                    ),
                }
            })
        })
}

/// Returns the `fault` block; that of a provider also selects resources.
pub(super) fn block(of_provider: bool) -> Nested {
    const KINDS: &[&str] = &[
        "latency",
        "transient",
        "permanent",
        "bad_input",
        "hang",
        "crash",
        "partial",
        "inconsistent",
    ];
    const CALLS: &[&str] = &["create", "read", "update", "delete", "change", "any"];
    let mut block = Block::new()
        .describe("A simulated fault.")
        .attr(Attr::string("kind").required().one_of(KINDS).describe("Kind of the fault."))
        .attr(Attr::string("on").one_of(CALLS).describe("Affected calls; `change` (the default) is create, update and delete."))
        .attr(Attr::number("times").describe("Number of occurrences; default: unlimited, two for `transient`."))
        .attr(Attr::number("ms").describe("Duration of a `latency`, in milliseconds."))
        .attr(Attr::string("text").describe("Text of the error."))
        .attr(Attr::string("attribute").describe("Attribute of `bad_input` and `inconsistent`, `name` by default; or the one that a `partial` update leaves unchanged."))
        .attr(Attr::bool("after").describe("Makes `hang` and `crash` occur after the work is done, so that its outcome is unknown."));
    if of_provider {
        block = block
            .attr(Attr::string("resource").describe("Only resources of this type."))
            .attr(
                Attr::string("name").describe("Only objects with this name; `*` matches any text."),
            );
    }
    Nested::new("fault", Nesting::List, block)
}

/// Reads the faults of a configuration's `fault` blocks. Unknown values during a plan have no
/// effect.
pub(super) fn read(config: &Object) -> Result<Vec<Fault>, Diagnostic> {
    let blocks = config.get("fault");
    blocks
        .as_slice()
        .unwrap_or_default()
        .iter()
        .map(read_one)
        .collect()
}

fn read_one(value: &cty::Value) -> Result<Fault, Diagnostic> {
    let wrong = |problem: String| {
        Diagnostic::error("the fault block is not valid", problem).at_attr("fault")
    };
    let block = Object::of(value).map_err(|e| wrong(e.into()))?;
    let text = |name: &str| block.text(name).map(str::to_owned);
    let kind = Kind::parse(block.text("kind").unwrap_or_default())
        .ok_or_else(|| wrong("unknown kind".into()))?;
    let on = block
        .text("on")
        .map_or(Some(On::Change), On::parse)
        .ok_or_else(|| wrong("unknown call in on".into()))?;
    let number = |name: &str| match block.get(name) {
        value if !value.is_given() => Ok(None),
        value => value
            .as_number()
            .and_then(cty::Number::to_u64)
            .map(Some)
            .ok_or_else(|| wrong(format!("{name} must be a whole number from 0"))),
    };
    // A larger number has the same effect as the greatest one.
    let times = number("times")?.map(|times| u32::try_from(times).unwrap_or(u32::MAX));
    Ok(Fault {
        on,
        times,
        ms: number("ms")?,
        text: text("text"),
        attribute: text("attribute"),
        after: block.bool("after").unwrap_or(false),
        resource: text("resource"),
        name: text("name"),
        ..Fault::new(kind)
    })
}
