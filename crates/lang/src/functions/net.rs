//! Network address functions.

mod cidr;

use cty::{Type, Value};

use self::cidr::{Address, Range};
use super::call::{CallError, Function, Param, int_argument, number, text};

fn prefix() -> Param {
    Param::new("prefix", Type::String)
}

fn range(args: &[Value], index: usize) -> Result<Range, CallError> {
    Range::parse(text(args, index)?)
        .map_err(|e| CallError::call(format!("invalid CIDR expression: {e}")))
}

/// Argument as an integer of up to 128 bits with sign.
fn big(args: &[Value], index: usize) -> Result<i128, CallError> {
    let n = number(args, index)?;
    let (negative, magnitude) = n
        .to_big()
        .ok_or_else(|| CallError::call("value must be a whole number"))?;
    let magnitude =
        i128::try_from(&magnitude).map_err(|_| CallError::call("value is too large"))?;
    Ok(if negative { -magnitude } else { magnitude })
}

pub(super) fn cidrhost() -> Function {
    Function::new(
        vec![prefix(), Param::new("hostnum", Type::Number)],
        Type::String,
        |args, _, _| {
            let host = big(args, 1)?;
            Ok(range(args, 0)?
                .host(host)
                .map_err(CallError::from_error)?
                .to_string()
                .into())
        },
    )
    .not_null()
}

pub(super) fn cidrnetmask() -> Function {
    Function::new(vec![prefix()], Type::String, |args, _, _| {
        let range = range(args, 0)?;
        if range.first.width != 32 {
            return Err(CallError::call(format!(
                "IPv6 addresses cannot have a netmask: {}",
                text(args, 0)?
            )));
        }
        Ok(range.netmask().to_string().into())
    })
    .not_null()
}

pub(super) fn cidrsubnet() -> Function {
    let params = vec![
        prefix(),
        Param::new("newbits", Type::Number),
        Param::new("netnum", Type::Number),
    ];
    Function::new(params, Type::String, |args, _, _| {
        let new_bits = int_argument(args, 1)?;
        let subnet = u128::try_from(big(args, 2)?)
            .map_err(|_| CallError::call("the subnet number must not be negative"))?;
        let made = range(args, 0)?.subnet(new_bits, subnet);
        Ok(made.map_err(CallError::from_error)?.to_string().into())
    })
    .not_null()
}

pub(super) fn cidrsubnets() -> Function {
    Function::new(vec![prefix()], Type::list(Type::String), |args, _, _| {
        let range = Range::parse(text(args, 0)?).map_err(|e| CallError::arg(0, format!("invalid CIDR expression: {e}")))?;
        let mut behind: Option<u128> = None;
        let mut made = Vec::with_capacity(args.len() - 1);
        let mut last = range;
        for index in 1..args.len() {
            let bits = int_argument(args, index).map_err(|e| CallError::arg(index, e.to_string()))?;
            if bits < 1 {
                return Err(CallError::arg(index, "must extend prefix by at least one bit"));
            }
            // Limit of the reference, also for IPv6.
            if bits > 32 {
                return Err(CallError::arg(index, "may not extend prefix by more than 32 bits"));
            }
            let length = i64::from(range.length) + bits;
            if length > i64::from(range.first.width) {
                let protocol = if range.first.width == 32 { "IPv4" } else { "IPv6" };
                let reason = format!("would extend prefix to {length} bits, which is too long for an {protocol} address");
                return Err(CallError::arg(index, reason));
            }
            // Each subnet starts after the one before, at the next multiple of its size.
            let packed = range.pack(behind, length as u32);
            let Some((subnet, next)) = packed else {
                let reason = format!("not enough remaining address space for a subnet with a prefix of {length} bits after {last}");
                return Err(CallError::arg(index, reason));
            };
            made.push(subnet.to_string().into());
            behind = Some(next);
            last = subnet;
        }
        Ok(Value::list(Type::String, made))
    })
    .more(Param::new("newbits", Type::Number))
    .not_null()
}

pub(super) fn cidrcontains() -> Function {
    let params = vec![
        Param::new("containing_prefix", Type::String),
        Param::new("contained_ip_or_prefix", Type::String),
    ];
    Function::new(params, Type::Bool, |args, _, _| {
        let (outer_text, inner_text) = (text(args, 0)?, text(args, 1)?);
        let outer = Range::parse(outer_text).map_err(CallError::from_error)?;
        let (first, last) = match Address::parse(inner_text) {
            Some(address) => (address, address),
            None => {
                let inner = Range::parse(inner_text).map_err(|_| {
                    CallError::call(format!("invalid IP address or prefix: {inner_text}"))
                })?;
                (inner.first, inner.last())
            }
        };
        if first.width != outer.first.width {
            return Err(CallError::call(format!(
                "address family mismatch: {outer_text} vs. {inner_text}"
            )));
        }
        Ok((outer.contains(first) && outer.contains(last)).into())
    })
}
