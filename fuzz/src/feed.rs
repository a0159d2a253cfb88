//! Interprets bytes as choices: types, values, schemas. Every byte string is valid. At its end the
//! smallest choice is taken, so that generation always terminates.

use std::collections::BTreeMap;
use std::sync::Arc;

use cty::schema::{Attribute, Block, NestedBlock, NestedObject, Nesting};
use cty::{Number, Path, PathStep, Type, Value};

const NAMES: [&str; 6] = ["a", "b", "c", "id", "é", "tags"];
const TEXTS: [&str; 8] = [
    "",
    "a",
    "b",
    "42",
    "true",
    "e\u{301}",
    "<&>\u{2028}",
    "a longer text, for once",
];
/// Maximum nesting of types and schemas.
const DEPTH: usize = 3;

/// Source of choices.
#[derive(Debug)]
pub struct Feed<'a> {
    rest: &'a [u8],
}

impl<'a> Feed<'a> {
    /// Creates a source from these bytes.
    pub fn new(data: &'a [u8]) -> Self {
        Self { rest: data }
    }

    /// Returns the next byte; 0 at the end.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.rest.split_first() else {
            return 0;
        };
        self.rest = rest;
        *first
    }

    /// Returns a number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n.max(1)
    }

    /// Returns the unread bytes.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Returns bytes that are preceded by their length.
    pub fn bytes(&mut self) -> &'a [u8] {
        let n = usize::from(self.byte()).min(self.rest.len());
        let (taken, rest) = self.rest.split_at(n);
        self.rest = rest;
        taken
    }

    fn text(&mut self) -> String {
        match self.below(10) {
            n @ 0..=7 => TEXTS[n].to_owned(),
            8 => char::from(self.byte()).to_string(),
            _ => String::from_utf8_lossy(self.bytes()).into_owned(),
        }
    }

    /// Returns a number; all precisions occur: machine integers, beyond `i64`, floats, and text.
    fn number(&mut self) -> Number {
        match self.below(6) {
            0 => Number::from(i64::from(self.byte() as i8)),
            1 => Number::from(i64::MAX - i64::from(self.byte())),
            2 => Number::from(u64::MAX),
            3 => Number::from_f64(f64::from(self.byte()) / 8.0).unwrap_or_else(|_| Number::from(0)),
            4 => Number::parse("3.1415926535897932384626433832795028841971")
                .unwrap_or_else(|_| Number::from(3)),
            _ => Number::parse(&format!("{}e{}", self.byte(), self.byte() as i8))
                .unwrap_or_else(|_| Number::from(1)),
        }
    }

    /// Returns a type; a constraint can have optional attributes.
    pub fn ty(&mut self, depth: usize, constraint: bool) -> Type {
        // At the maximum depth only the four types without nested types remain.
        let kinds = if depth >= DEPTH { 4 } else { 9 };
        match self.below(kinds) {
            0 => Type::String,
            1 => Type::Number,
            2 => Type::Bool,
            3 => Type::Dynamic,
            4 => Type::list(self.ty(depth + 1, constraint)),
            5 => Type::set(self.ty(depth + 1, constraint)),
            6 => Type::map(self.ty(depth + 1, constraint)),
            7 => {
                let n = self.below(4);
                Type::tuple(
                    (0..n)
                        .map(|_| self.ty(depth + 1, constraint))
                        .collect::<Vec<_>>(),
                )
            }
            _ => {
                let n = self.below(4);
                let attributes: Vec<(&str, Type)> = (0..n)
                    .map(|i| (NAMES[i], self.ty(depth + 1, constraint)))
                    .collect();
                let optional = if constraint { self.byte() } else { 0 };
                let optional: Vec<&str> = attributes
                    .iter()
                    .enumerate()
                    .filter(|(i, _)| optional >> i & 1 == 1)
                    .map(|(_, (n, _))| *n)
                    .collect();
                Type::object_with_optional(attributes, optional)
            }
        }
    }

    /// Returns an unknown value, usually refined. Contradicting refinements are dropped.
    fn unknown(&mut self, ty: Type) -> Value {
        let mut b = Value::unknown(ty.clone()).refine();
        let kind = self.byte();
        if kind & 1 == 1 {
            b = b.not_null();
        }
        if kind & 2 == 2 {
            b = match &ty {
                Type::String => b.string_prefix(&self.text()),
                Type::Number => b.number_min(Number::from(i64::from(self.byte())), kind & 4 == 4),
                t if t.is_collection() => b.length_min(self.below(3)).length_max(3 + self.below(3)),
                _ => b,
            };
        }
        b.build().unwrap_or_else(|_| Value::unknown(ty))
    }

    /// Returns a value of exactly this type; its dynamic parts have any type.
    pub fn value(&mut self, ty: &Type, unknown: bool, depth: usize) -> Value {
        match self.below(12) {
            0 => return Value::null(ty.clone()),
            1 if unknown => return self.unknown(ty.clone()),
            _ => {}
        }
        // Dynamic types can nest further than `DEPTH`.
        if depth > DEPTH * 2 {
            return Value::null(ty.clone());
        }
        let n = if matches!(ty, Type::List(_) | Type::Set(_) | Type::Map(_)) {
            self.below(4)
        } else {
            0
        };
        let mut inner = |ty: &Type| self.value(ty, unknown, depth + 1);
        // With dynamic elements, the first one determines the type of all; other combinations give
        // null.
        let made = match ty {
            Type::String => Ok(Value::string(self.text())),
            Type::Number => Ok(Value::number(self.number())),
            Type::Bool => Ok(Value::bool(self.byte() & 1 == 1)),
            Type::Dynamic => {
                let ty = self.ty(depth.min(DEPTH), false);
                Ok(if ty.is_dynamic() {
                    Value::null(ty)
                } else {
                    self.value(&ty, unknown, depth + 1)
                })
            }
            Type::List(e) => Value::try_list((**e).clone(), (0..n).map(|_| inner(e)).collect()),
            Type::Set(e) => Value::try_set((**e).clone(), (0..n).map(|_| inner(e)).collect()),
            Type::Map(e) => Value::try_map(
                (**e).clone(),
                (0..n).map(|i| (NAMES[i], inner(e))).collect::<Vec<_>>(),
            ),
            Type::Tuple(types) => Ok(Value::tuple(types.iter().map(inner).collect())),
            Type::Object(o) => Ok(Value::object(
                o.attributes
                    .iter()
                    .map(|(n, t)| (n, inner(t)))
                    .collect::<Vec<_>>(),
            )),
        };
        made.unwrap_or_else(|_| Value::null(ty.clone()))
    }

    /// Returns a path, usually into `value`.
    pub fn path(&mut self, value: &Value) -> Path {
        if self.below(3) > 0 {
            let mut all = Vec::new();
            value.walk(&mut |p, _| {
                all.push(p.clone());
                true
            });
            let at = self.below(all.len());
            return all.swap_remove(at);
        }
        let n = self.below(4);
        Path::new(
            (0..n)
                .map(|_| match self.below(4) {
                    0 => PathStep::Attr(NAMES[self.below(6)].into()),
                    1 => PathStep::Index(Value::number(self.number())),
                    2 => PathStep::Index(Value::string(self.text())),
                    _ => {
                        let ty = self.ty(1, false);
                        PathStep::Index(self.value(&ty, true, 1))
                    }
                })
                .collect(),
        )
    }

    /// Returns a schema with all kinds of attributes and nestings of blocks.
    pub fn block(&mut self, depth: usize) -> Block {
        let attributes = self.attributes(depth);
        let blocks = if depth >= 2 { 0 } else { self.below(4) };
        let blocks = (0..blocks).map(|i| {
            let nesting = [
                Nesting::Single,
                Nesting::Group,
                Nesting::List,
                Nesting::Set,
                Nesting::Map,
            ][self.below(5)];
            (
                format!("block{i}").into(),
                NestedBlock::new(nesting, self.block(depth + 1)),
            )
        });
        Block {
            blocks: blocks.collect(),
            attributes,
            ..Block::default()
        }
    }

    fn attributes(&mut self, depth: usize) -> BTreeMap<Arc<str>, Attribute> {
        let n = 1 + self.below(4);
        (0..n)
            .map(|i| (NAMES[i].into(), self.attribute(depth)))
            .collect()
    }

    fn attribute(&mut self, depth: usize) -> Attribute {
        let flags = self.byte();
        let (required, optional, computed) = match flags & 3 {
            0 => (false, true, false),
            1 => (false, true, true),
            2 => (false, false, true),
            _ => (true, false, false),
        };
        let nested = (depth < 2 && flags & 0x30 == 0x30).then(|| NestedObject {
            nesting: [Nesting::Single, Nesting::List, Nesting::Set, Nesting::Map][self.below(4)],
            attributes: self.attributes(depth + 1),
        });
        let ty = if nested.is_some() {
            Type::Dynamic
        } else {
            self.ty(1, false)
        };
        // The combinations are those that a provider can declare.
        let write_only = !computed && nested.is_none() && flags & 0xc0 == 0xc0;
        Attribute {
            ty,
            nested,
            required,
            optional,
            computed,
            sensitive: flags & 0x0c == 0x0c,
            write_only,
            ..Attribute::default()
        }
    }

    /// Returns a configuration as the decoder would: attributes that only the provider sets are
    /// null, and no blocks are null except single ones.
    pub fn config(&mut self, block: &Block, unknown: bool) -> Value {
        let mut out: BTreeMap<Arc<str>, Value> = BTreeMap::new();
        for (name, attribute) in &block.attributes {
            out.insert(name.clone(), self.configured(attribute, unknown));
        }
        for (name, nested) in &block.blocks {
            out.insert(
                name.clone(),
                self.blocks(nested, &mut |feed| feed.config(&nested.block, unknown)),
            );
        }
        Value::object_from_map(out)
    }

    /// Returns an object as a provider stores it: wholly known, without write-only values.
    pub fn stored(&mut self, block: &Block) -> Value {
        let mut out: BTreeMap<Arc<str>, Value> = BTreeMap::new();
        for (name, attribute) in &block.attributes {
            let ty = attribute.implied_type();
            let value = if attribute.write_only {
                Value::null(ty)
            } else {
                self.value(&ty, false, 1)
            };
            out.insert(name.clone(), value);
        }
        for (name, nested) in &block.blocks {
            out.insert(
                name.clone(),
                self.blocks(nested, &mut |feed| feed.stored(&nested.block)),
            );
        }
        Value::object_from_map(out)
    }

    fn blocks(&mut self, nested: &NestedBlock, one: &mut dyn FnMut(&mut Self) -> Value) -> Value {
        let ty = nested.block.implied_type();
        let n = if matches!(nested.nesting, Nesting::Single | Nesting::Group) {
            1
        } else {
            self.below(3)
        };
        // A group is always present.
        if nested.nesting == Nesting::Single && self.below(2) == 0 {
            return nested.empty_value();
        }
        let mut all: Vec<Value> = (0..n).map(|_| one(self)).collect();
        match nested.nesting {
            Nesting::Single | Nesting::Group => all.swap_remove(0),
            // Blocks with dynamic parts are tuples and objects.
            Nesting::List if ty.has_dynamic() => Value::tuple(all),
            Nesting::List => Value::try_list(ty, all).unwrap_or_else(|_| nested.empty_value()),
            Nesting::Set => Value::try_set(ty, all).unwrap_or_else(|_| nested.empty_value()),
            Nesting::Map if ty.has_dynamic() => Value::object(NAMES.iter().zip(all)),
            Nesting::Map => {
                Value::try_map(ty, NAMES.iter().zip(all)).unwrap_or_else(|_| nested.empty_value())
            }
        }
    }

    fn configured(&mut self, attribute: &Attribute, unknown: bool) -> Value {
        let ty = attribute.implied_type();
        if attribute.computed && !attribute.optional {
            return Value::null(ty);
        }
        let Some(nested) = &attribute.nested else {
            return self.value(&ty, unknown, 1);
        };
        match self.below(6) {
            0 => return Value::null(ty),
            1 if unknown => return Value::unknown(ty),
            _ => {}
        }
        let mut one = || {
            Value::object(
                nested
                    .attributes
                    .iter()
                    .map(|(n, a)| (n, self.configured(a, unknown)))
                    .collect::<Vec<_>>(),
            )
        };
        let object = nested.object_type();
        let made = match nested.nesting {
            Nesting::Single | Nesting::Group => Ok(one()),
            Nesting::List => Value::try_list(object, vec![one(), one()]),
            Nesting::Set => Value::try_set(object, vec![one(), one()]),
            Nesting::Map => Value::try_map(object, [("k", one()), ("l", one())]),
        };
        made.unwrap_or_else(|_| Value::null(ty))
    }
}
