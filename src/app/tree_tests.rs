use super::*;

/// Rows of a tree as text, one a line.
fn rows_of(addresses: &[&str], shown: &[&str], folded: &[&str], descending: bool) -> Vec<String> {
    let list: Vec<(usize, &str)> = addresses.iter().copied().enumerate().collect();
    let tree = Tree::new(&list);
    assert!(tree.is_of(&list));
    let mut rows = vec![None; tree.leaf_count()];
    for (index, address) in &list {
        if shown.is_empty() || shown.contains(address) {
            rows[tree.position(*index).unwrap()] = Some(Row::text(*address, *index));
        }
    }
    let how = Arrangement {
        is_folded: &|node| folded.contains(&node.key.as_str()),
        descending,
    };
    tree.arrange(rows, &how)
        .iter()
        .map(|row| row.label().into_owned())
        .collect()
}

fn open(addresses: &[&str]) -> Vec<String> {
    rows_of(addresses, &[], &[], false)
}

#[test]
fn addresses_without_modules_make_no_nodes() {
    let list = [(0, "a.b"), (1, "a.c[0]"), (2, "a.c[1]")];
    assert!(Tree::new(&list).is_flat());
    assert!(Tree::new(&[]).is_flat());
}

#[test]
fn modules_are_nodes_with_relative_names_below_them() {
    assert_eq!(
        open(&[
            r#"module.svc["orders"].lab_server.this[10]"#,
            r#"module.svc["orders"].lab_server.this[2]"#,
            r#"module.svc["api"].lab_server.a"#,
            r#"module.svc["api"].lab_server.b"#,
            "lab_thing.queue",
        ]),
        [
            "lab_thing.queue",
            "▾ module.svc (2)",
            r#"  ▾ ["api"]"#,
            "    lab_server.a",
            "    lab_server.b",
            r#"  ▾ ["orders"]"#,
            "    lab_server.this[2]",
            "    lab_server.this[10]",
        ]
    );
}

#[test]
fn modules_with_one_child_are_joined() {
    assert_eq!(
        open(&["module.a.module.b.x.one", "module.a.module.b.x.two"]),
        ["▾ module.a.module.b", "  x.one", "  x.two"]
    );
    // A module with one row is that row.
    assert_eq!(
        open(&["module.a.x.one", "module.b.x.one", "module.b.x.two"]),
        ["module.a.x.one", "▾ module.b", "  x.one", "  x.two"]
    );
}

#[test]
fn many_instances_of_a_resource_are_a_node_and_few_are_not() {
    let all: Vec<String> = (0..6).map(|n| format!("x.p[{n}]")).collect();
    let six: Vec<&str> = all.iter().map(String::as_str).collect();
    let rows = open(&six);
    assert_eq!(rows[0], "▾ x.p (6)");
    assert_eq!(rows[1], "  [0]");
    assert_eq!(open(&six[..5])[0], "x.p[0]");
    // Within a module, few instances keep the name of the resource.
    assert_eq!(
        open(&["module.a.x.p[0]", "module.a.x.p[1]"]),
        ["▾ module.a", "  x.p[0]", "  x.p[1]"]
    );
    // The same resource without a key stays beside its instances.
    let mut with_plain = vec!["x.p"];
    with_plain.extend(&six);
    assert_eq!(open(&with_plain)[..2], ["x.p", "▾ x.p (6)"]);
}

#[test]
fn dots_and_brackets_within_quotes_belong_to_the_key() {
    assert_eq!(
        open(&[
            r#"module.m["a.b"].x.one"#,
            r#"module.m["a.b"].x.two"#,
            r#"module.m["c]\"].d"].x.one"#,
        ]),
        [
            "▾ module.m (2)",
            r#"  ▾ ["a.b"]"#,
            "    x.one",
            "    x.two",
            r#"  ["c]\"].d"].x.one"#,
        ]
    );
}

#[test]
fn folded_node_hides_its_rows_and_a_node_without_rows_is_left_out() {
    let all = [
        "module.a.x.one",
        "module.a.x.two",
        "module.b.x.one",
        "module.b.x.two",
    ];
    assert_eq!(
        rows_of(&all, &[], &["module.a"], false),
        ["▸ module.a", "▾ module.b", "  x.one", "  x.two"]
    );
    assert_eq!(
        rows_of(&all, &["module.b.x.two"], &[], false),
        ["▾ module.b", "  x.two"]
    );
}

#[test]
fn descending_order_reverses_each_level() {
    let all = ["x.a", "module.b.x.one", "module.b.x.two"];
    assert_eq!(
        rows_of(&all, &[], &[], true),
        ["▾ module.b", "  x.two", "  x.one", "x.a"]
    );
}

#[test]
fn leaves_below_and_nodes_around_agree() {
    let list = [
        (4, r#"module.a["x"].x.one"#),
        (7, r#"module.a["x"].x.two"#),
        (9, r#"module.a["y"].x.one"#),
    ];
    let tree = Tree::new(&list);
    let outer = tree.node(0).unwrap();
    assert_eq!(outer.key, "module.a");
    let below: Vec<usize> = tree.below(outer).map(|(_, index)| index).collect();
    assert_eq!(below, [4, 7, 9]);
    let around: Vec<&str> = tree
        .around(tree.position(7).unwrap())
        .map(|n| n.key.as_str())
        .collect();
    assert_eq!(around, ["module.a", r#"module.a["x"]"#]);
    assert_eq!(tree.position(5), None);
    assert_eq!(tree.position(99), None);
}

#[test]
fn a_tree_is_of_another_list_after_a_change() {
    let list = [(0, "module.a.x.one"), (1, "module.a.x.two")];
    let tree = Tree::new(&list);
    assert!(!tree.is_of(&list[..1]));
    assert!(!tree.is_of(&[(0, "module.a.x.one"), (1, "module.a.x.three")]));
    assert!(!tree.is_of(&[(0, "module.a.x.one"), (2, "module.a.x.two")]));
}
