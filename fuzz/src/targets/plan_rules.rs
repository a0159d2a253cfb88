//! Choices of a schema, a configuration, an object and a response. The plan rules never panic. A
//! proposed value keeps the configuration, passes the plan checks, and is a fixed point of another
//! proposal.

use cty::plan::{
    assert_object_compatible, assert_plan_valid, normalize_legacy, planned_unknown_object,
    proposed_new, type_mismatches,
};
use cty::schema::{Attribute, Block, Nesting};
use cty::{Type, Value};

use crate::feed::Feed;

pub fn run(data: &[u8]) {
    let mut feed = Feed::new(data);
    let schema = feed.block(0);
    let ty = schema.implied_type();
    let config = feed.config(&schema, true);
    let prior = if feed.below(3) == 0 {
        Value::null(ty.clone())
    } else {
        feed.stored(&schema)
    };
    proposal(&schema, &ty, &prior, &config);
    outcome(&mut feed, &schema, &prior, &config);
    // Arbitrary responses of a provider.
    let answer = feed.value(&ty, true, 0);
    let other = feed.value(&ty, true, 0);
    for violations in [
        assert_plan_valid(&schema, &prior, &config, &answer),
        assert_plan_valid(&schema, &other, &config, &answer),
        assert_plan_valid(&schema, &answer, &other, &config),
        assert_object_compatible(&schema, &answer, &other),
        assert_object_compatible(&schema, &config, &answer),
    ] {
        for (path, words) in violations {
            assert!(!words.is_empty(), "{path}");
        }
    }
    proposed_new(&schema, &answer, &other);
    // Normalization must be idempotent, because results are normalized again.
    let legacy = normalize_legacy(&schema, &answer);
    assert_eq!(normalize_legacy(&schema, &legacy), legacy);
}

fn proposal(schema: &Block, ty: &Type, prior: &Value, config: &Value) {
    let proposed = proposed_new(schema, prior, config);
    assert_eq!(type_mismatches(proposed.ty(), ty), [], "{proposed:?}");
    let waiting = planned_unknown_object(schema, config);
    assert_eq!(type_mismatches(waiting.ty(), ty), [], "{waiting:?}");
    // Elements of sets have no keys: if two differ only in computed values, one can be matched with
    // the other.
    if has_sets(schema) {
        return;
    }
    let violations = assert_plan_valid(schema, prior, config, &proposed);
    assert!(
        violations.is_empty(),
        "{violations:?}\nschema {schema:?}\nprior {prior:?}\nconfig {config:?}\nproposed {proposed:?}"
    );
    assert_eq!(
        proposed_new(schema, &proposed, config),
        proposed,
        "schema {schema:?}\nprior {prior:?}\nconfig {config:?}"
    );
    for (of, what) in [(&proposed, "proposed"), (&waiting, "waiting")] {
        // Every configured leaf must reach the proposed value unchanged.
        config.walk(&mut |path, value| {
            let leaf = !value.is_known() || !value.is_null() && value.elements().next().is_none();
            if leaf {
                assert_eq!(
                    path.apply(of).as_ref(),
                    Ok(value),
                    "{what}: {path} of {config:?}"
                );
            }
            true
        });
    }
}

/// Checks that a result with all unknown values filled in is compatible with its plan.
fn outcome(feed: &mut Feed<'_>, schema: &Block, prior: &Value, config: &Value) {
    let known = proposed_new(schema, prior, config).unknown_as_null();
    let violations = assert_object_compatible(schema, &known, &known);
    assert!(violations.is_empty(), "{violations:?}: {known:?}");
    if has_sets(schema) {
        return;
    }
    let planned = planned_unknown_object(schema, config);
    let filled: Result<Value, std::convert::Infallible> = planned.transform(&mut |_, v| {
        let plain = !v.is_known() && v.refinement().is_none() && !v.ty().is_dynamic();
        Ok(if plain {
            feed.value(&v.ty().clone(), false, 2)
        } else {
            v
        })
    });
    let Ok(filled) = filled;
    if filled.is_wholly_known() && filled.ty().conforms_to(planned.ty()) {
        let violations = assert_object_compatible(schema, &planned, &filled);
        assert!(
            violations.is_empty(),
            "{violations:?}\nschema {schema:?}\nplanned {planned:?}\nfilled {filled:?}"
        );
    }
}

fn has_sets(block: &Block) -> bool {
    let attribute = |a: &Attribute| in_attribute(a);
    block.attributes.values().any(attribute)
        || block
            .blocks
            .values()
            .any(|b| b.nesting == Nesting::Set || has_sets(&b.block))
}

fn in_attribute(attribute: &Attribute) -> bool {
    match &attribute.nested {
        Some(nested) => {
            nested.nesting == Nesting::Set || nested.attributes.values().any(in_attribute)
        }
        None => in_type(&attribute.ty),
    }
}

fn in_type(ty: &Type) -> bool {
    match ty {
        Type::Set(_) | Type::Dynamic => true,
        Type::List(t) | Type::Map(t) => in_type(t),
        Type::Tuple(types) => types.iter().any(in_type),
        Type::Object(o) => o.attributes.values().any(in_type),
        _ => false,
    }
}
