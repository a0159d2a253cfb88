//! Order of operations beside the recorded one of OpenTofu 1.12.6, for modules with several
//! instances. `recorded_orders/record.py` makes the recordings.
//!
//! OpenTofu evaluates variables, local values and outputs once for all instances of a module, so
//! that an operation behind one of them waits for all instances. Here it waits for its own
//! instance; those rows have an `order` of their own.

use crate::stage::testing::check;

#[tokio::test]
async fn operations_wait_for_their_own_module_instance_as_in_opentofu() {
    check(include_str!("recorded_orders/cases.txt")).await;
}
