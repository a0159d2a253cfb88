//! Generation of unused object ids.

use sdk::Failure;

use super::cloud::Cloud;

/// Number of attempts before the lab is considered full.
const MAX_ATTEMPTS: u32 = 100;

/// Returns an unused id. With 20,000 ids of eight hex digits, a collision is not rare.
pub(super) fn unused_id(
    cloud: &Cloud,
    prefix: &str,
    mut draw: impl FnMut() -> String,
) -> Result<String, Failure> {
    let mut drawn = (0..MAX_ATTEMPTS).map(|_| format!("{prefix}-{}", draw()));
    drawn
        .find(|id| !cloud.objects.contains_key(id))
        .ok_or_else(|| {
            Failure::new(
                "the lab has no free id",
                format!("{MAX_ATTEMPTS} random ids are all in use; remove objects from the lab"),
            )
        })
}

#[cfg(test)]
mod tests {
    use super::super::cloud::{Change as CloudChange, Object as Stored};
    use super::*;

    #[test]
    fn used_id_is_not_assigned_again() {
        let mut cloud = Cloud::default();
        let taken = Stored {
            kind: "lab_thing".into(),
            name: "t".into(),
            attributes: serde_json::Map::new(),
            ready_at: None,
        };
        CloudChange::new(&mut cloud).put("thing-1", taken);
        let mut numbers = ["1", "1", "2"].into_iter().map(str::to_owned);
        assert_eq!(
            unused_id(&cloud, "thing", || numbers.next().unwrap()).unwrap(),
            "thing-2"
        );
        assert!(
            unused_id(&cloud, "thing", || "1".to_owned()).is_err(),
            "it does not look for ever"
        );
    }
}
