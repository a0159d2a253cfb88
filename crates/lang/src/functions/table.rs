//! Table of all functions by name. `core::` may precede a name.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use cty::Type;

use super::assume::{self, Kind as Assume};
use super::call::Function;
use super::collect::{choose, lists, maps, product, search, sets};
use super::hash::{self, Kind as Hash};
use super::text::{format, plain, regex};
use super::{clock, convert, encode, files, net, number, rsa, sensitive, template};

/// Functions on expressions, evaluated elsewhere; listed here for suggestions on misspelt names.
const LAZY: &[&str] = &["can", "try"];

/// Finds a function by name.
pub fn find(name: &str) -> Option<Arc<Function>> {
    table()
        .get(name.strip_prefix("core::").unwrap_or(name))
        .cloned()
}

/// All names, sorted.
pub fn names() -> impl Iterator<Item = &'static str> {
    table().keys().copied().chain(LAZY.iter().copied())
}

fn table() -> &'static BTreeMap<&'static str, Arc<Function>> {
    static TABLE: OnceLock<BTreeMap<&'static str, Arc<Function>>> = OnceLock::new();
    TABLE.get_or_init(|| {
        all()
            .into_iter()
            .map(|(name, function)| (name, Arc::new(function)))
            .collect()
    })
}

fn all() -> Vec<(&'static str, Function)> {
    let mut all = on_values();
    all.extend(on_text());
    all.extend(on_collections());
    all.extend(assumptions());
    all
}

fn on_values() -> Vec<(&'static str, Function)> {
    vec![
        ("abs", number::abs()),
        ("ceil", number::ceil()),
        ("floor", number::floor()),
        ("log", number::log()),
        ("max", number::max()),
        ("min", number::min()),
        ("parseint", number::parseint()),
        ("pow", number::pow()),
        ("range", number::range()),
        ("signum", number::signum()),
        ("sum", number::sum()),
        ("tobool", convert::to(Type::Bool)),
        ("tolist", convert::to(Type::list(Type::Dynamic))),
        ("tomap", convert::to(Type::map(Type::Dynamic))),
        ("tonumber", convert::to(Type::Number)),
        ("toset", convert::to(Type::set(Type::Dynamic))),
        ("tostring", convert::to(Type::String)),
        ("ephemeralasnull", sensitive::ephemeralasnull()),
        ("issensitive", sensitive::issensitive()),
        ("nonsensitive", sensitive::nonsensitive()),
        ("sensitive", sensitive::sensitive()),
        ("formatdate", clock::formatdate()),
        ("plantimestamp", clock::plantimestamp()),
        ("timeadd", clock::timeadd()),
        ("timecmp", clock::timecmp()),
        ("timestamp", clock::timestamp()),
        ("cidrcontains", net::cidrcontains()),
        ("cidrhost", net::cidrhost()),
        ("cidrnetmask", net::cidrnetmask()),
        ("cidrsubnet", net::cidrsubnet()),
        ("cidrsubnets", net::cidrsubnets()),
        ("bcrypt", hash::bcrypt()),
        ("rsadecrypt", rsa::rsadecrypt()),
        ("uuid", hash::uuid()),
        ("uuidv5", hash::uuidv5()),
    ]
}

fn on_text() -> Vec<(&'static str, Function)> {
    vec![
        ("chomp", plain::chomp()),
        ("endswith", plain::endswith()),
        ("format", format::format()),
        ("formatlist", format::formatlist()),
        ("indent", plain::indent()),
        ("join", plain::join()),
        ("lower", plain::lower()),
        ("regex", regex::regex()),
        ("regexall", regex::regexall()),
        ("replace", regex::replace()),
        ("sort", plain::sort()),
        ("split", plain::split()),
        ("startswith", plain::startswith()),
        ("strcontains", plain::strcontains()),
        ("strrev", plain::strrev()),
        ("substr", plain::substr()),
        ("title", plain::title()),
        ("trim", plain::trim()),
        ("trimprefix", plain::trimprefix()),
        ("trimspace", plain::trimspace()),
        ("trimsuffix", plain::trimsuffix()),
        ("upper", plain::upper()),
        ("base64decode", encode::base64decode()),
        ("base64encode", encode::base64encode()),
        ("base64gunzip", encode::base64gunzip()),
        ("base64gzip", encode::base64gzip()),
        ("csvdecode", encode::csvdecode()),
        ("jsondecode", encode::json::jsondecode()),
        ("jsonencode", encode::json::jsonencode()),
        ("textdecodebase64", encode::textdecodebase64()),
        ("textencodebase64", encode::textencodebase64()),
        ("urldecode", encode::urldecode()),
        ("urlencode", encode::urlencode()),
        ("yamldecode", encode::yamldecode()),
        ("yamlencode", encode::yamlencode()),
        ("base64sha256", hash::of_text(Hash::Base64Sha256)),
        ("base64sha512", hash::of_text(Hash::Base64Sha512)),
        ("md5", hash::of_text(Hash::Md5)),
        ("sha1", hash::of_text(Hash::Sha1)),
        ("sha256", hash::of_text(Hash::Sha256)),
        ("sha512", hash::of_text(Hash::Sha512)),
        ("filebase64sha256", hash::of_file(Hash::Base64Sha256)),
        ("filebase64sha512", hash::of_file(Hash::Base64Sha512)),
        ("filemd5", hash::of_file(Hash::Md5)),
        ("filesha1", hash::of_file(Hash::Sha1)),
        ("filesha256", hash::of_file(Hash::Sha256)),
        ("filesha512", hash::of_file(Hash::Sha512)),
        ("abspath", files::abspath()),
        ("basename", files::basename()),
        ("dirname", files::dirname()),
        ("file", files::file()),
        ("filebase64", files::filebase64()),
        ("fileexists", files::fileexists()),
        ("fileset", files::fileset()),
        ("pathexpand", files::pathexpand()),
        ("templatefile", template::templatefile()),
        ("templatestring", template::templatestring()),
    ]
}

fn on_collections() -> Vec<(&'static str, Function)> {
    vec![
        ("alltrue", search::alltrue()),
        ("anytrue", search::anytrue()),
        ("chunklist", lists::chunklist()),
        ("coalesce", choose::coalesce()),
        ("coalescelist", choose::coalescelist()),
        ("compact", lists::compact()),
        ("concat", lists::concat()),
        ("contains", search::contains()),
        ("distinct", lists::distinct()),
        ("element", choose::element()),
        ("flatten", lists::flatten()),
        ("index", search::index()),
        ("keys", maps::keys()),
        ("length", search::length()),
        (
            "list",
            search::removed_function("list", "tolist([ ... ]) to write a literal list"),
        ),
        ("lookup", maps::lookup()),
        (
            "map",
            search::removed_function("map", "tomap({ ... }) to write a literal map"),
        ),
        ("matchkeys", search::matchkeys()),
        ("merge", maps::merge()),
        ("one", choose::one()),
        ("reverse", lists::reverse()),
        ("setintersection", sets::intersection()),
        ("setproduct", product::setproduct()),
        ("setsubtract", sets::subtract()),
        ("setunion", sets::union()),
        ("slice", lists::slice()),
        ("transpose", maps::transpose()),
        ("values", maps::values()),
        ("zipmap", maps::zipmap()),
    ]
}

fn assumptions() -> Vec<(&'static str, Function)> {
    vec![
        ("assumeequal", assume::equal()),
        ("assumelistlength", assume::length(Assume::List)),
        ("assumelistlengthmax", assume::length_max(Assume::List)),
        ("assumelistlengthmin", assume::length_min(Assume::List)),
        ("assumemaplength", assume::length(Assume::Map)),
        ("assumemaplengthmax", assume::length_max(Assume::Map)),
        ("assumemaplengthmin", assume::length_min(Assume::Map)),
        ("assumenotnull", assume::notnull()),
        ("assumesetlength", assume::length(Assume::Set)),
        ("assumesetlengthmax", assume::length_max(Assume::Set)),
        ("assumesetlengthmin", assume::length_min(Assume::Set)),
        ("assumestringprefix", assume::stringprefix()),
    ]
}
