//! Types and values as providers know them: unknown, null, marked; conversion; msgpack and JSON.
