//! Tree of modules over the addresses of a list: nodes for modules, instances of a module and many
//! like instances of a resource. Built once for each set of addresses, arranged for each frame.

mod path;

use super::list::{NodeRow, Place, Row};
use path::{Kind, Path};
use std::collections::BTreeSet;
use std::ops::Range;

/// Number of instances of a resource from which they have a node of their own.
const MANY: usize = 6;

/// Node of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Identity: the address of the module, or `address[*]` of a repeated resource.
    pub key: String,
    /// Address relative to the node around it, with the number of instances.
    pub name: String,
    depth: u16,
    /// Positions of the leaves below it.
    pub leaves: Range<usize>,
    /// Index of the first node that is not below it.
    next: usize,
}

impl Node {
    /// Start of an address below the node, relative to it.
    pub fn name_start(&self, address: &str) -> usize {
        let own = self.key.strip_suffix("[*]").unwrap_or(&self.key).len();
        let dot = address.get(own..).is_some_and(|rest| rest.starts_with('.'));
        own + usize::from(dot)
    }
}

/// Address of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Leaf {
    index: usize,
    address: Box<str>,
    depth: u16,
    /// Start of the relative address.
    name_from: usize,
}

/// Addresses in natural order, and the nodes above them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    leaves: Vec<Leaf>,
    /// Positions of the leaves in the order of the list.
    listed: Vec<u32>,
    /// Positions of the leaves by index; `u32::MAX` for indexes without a leaf.
    positions: Vec<u32>,
    /// Each node before the nodes below it.
    nodes: Vec<Node>,
}

/// How a tree is arranged into rows.
pub struct Arrangement<'a> {
    pub is_folded: &'a dyn Fn(&Node) -> bool,
    pub descending: bool,
}

impl Tree {
    /// Builds the tree of a list: the index and the address of each row.
    pub fn new(list: &[(usize, &str)]) -> Self {
        let mut paths: Vec<(usize, Path<'_>)> = list
            .iter()
            .enumerate()
            .map(|(n, (_, address))| (n, Path::new(address)))
            .collect();
        paths.sort_by(|a, b| a.1.cmp(&b.1).then(a.0.cmp(&b.0)));
        let mut builder = Builder {
            paths: &paths,
            places: vec![(0, 0); paths.len()],
            nodes: Vec::new(),
        };
        builder.level(0..paths.len(), 0, 0);
        let (places, nodes) = (builder.places, builder.nodes);
        let highest = list.iter().map(|(index, _)| index + 1).max().unwrap_or(0);
        let (mut listed, mut positions) = (vec![0; list.len()], vec![u32::MAX; highest]);
        let mut leaves = Vec::with_capacity(list.len());
        for (position, ((n, path), (depth, name_from))) in paths.iter().zip(places).enumerate() {
            let index = list[*n].0;
            let at = u32::try_from(position).unwrap_or(u32::MAX);
            (listed[*n], positions[index]) = (at, at);
            leaves.push(Leaf {
                index,
                address: path.address.into(),
                depth,
                name_from,
            });
        }
        Self {
            leaves,
            listed,
            positions,
            nodes,
        }
    }

    /// Returns true if this is the tree of the list.
    pub fn is_of(&self, list: &[(usize, &str)]) -> bool {
        self.listed.len() == list.len()
            && self.listed.iter().zip(list).all(|(at, (index, address))| {
                let leaf = &self.leaves[*at as usize];
                leaf.index == *index && *leaf.address == **address
            })
    }

    /// Number of leaves.
    pub fn leaf_count(&self) -> usize {
        self.leaves.len()
    }

    /// Returns true if there is no node, so that a tree shows no more than a list.
    pub fn is_flat(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the node with an index.
    pub fn node(&self, at: usize) -> Option<&Node> {
        self.nodes.get(at)
    }

    /// Returns the index of a leaf.
    pub fn index(&self, position: usize) -> usize {
        self.leaves[position].index
    }

    /// Returns the address of a leaf.
    pub fn address(&self, position: usize) -> &str {
        &self.leaves[position].address
    }

    /// Returns the position of the leaf with an index in the list.
    pub fn position(&self, index: usize) -> Option<usize> {
        let at = *self.positions.get(index)? as usize;
        (at < self.leaves.len()).then_some(at)
    }

    /// Returns the indexes of the leaves below a node, with their positions.
    pub fn below(&self, node: &Node) -> impl Iterator<Item = (usize, usize)> {
        node.leaves
            .clone()
            .zip(&self.leaves[node.leaves.clone()])
            .map(|(position, leaf)| (position, leaf.index))
    }

    /// Returns the nodes around a leaf, the outermost first.
    pub fn around(&self, position: usize) -> impl Iterator<Item = &Node> {
        self.nodes
            .iter()
            .filter(move |n| n.leaves.contains(&position))
    }

    /// Arranges rows, given by position, below the nodes that have any. Rows below a folded node
    /// are left out.
    pub fn arrange(&self, rows: Vec<Option<Row>>, how: &Arrangement<'_>) -> Vec<Row> {
        // Numbers of rows before each position, to find nodes without rows at once.
        let mut before = Vec::with_capacity(rows.len() + 1);
        before.push(0_usize);
        for row in &rows {
            before.push(before[before.len() - 1] + usize::from(row.is_some()));
        }
        let mut walk = Walk {
            tree: self,
            how,
            before,
            rows,
            out: Vec::new(),
        };
        walk.level(0..self.leaves.len(), 0..self.nodes.len());
        walk.out
    }
}

/// Builds the nodes from sorted paths.
struct Builder<'a> {
    paths: &'a [(usize, Path<'a>)],
    /// Depth of each leaf, and the start of its relative address.
    places: Vec<(u16, usize)>,
    nodes: Vec<Node>,
}

impl Builder<'_> {
    fn path(&self, at: usize) -> &Path<'_> {
        &self.paths[at].1
    }

    /// Adds the leaves and nodes of paths that share their first `shared` parts.
    fn level(&mut self, range: Range<usize>, shared: usize, depth: u16) {
        let mut at = range.start;
        while at < range.end {
            let end = self.group_end(at, range.end, shared);
            let parts = self.shared_parts(at, end);
            if end - at < 2 || parts <= shared {
                for i in at..end {
                    self.places[i] = (depth, self.path(i).name_start(shared));
                }
            } else {
                let node = self.node(at..end, shared, parts, depth);
                let index = self.nodes.len();
                self.nodes.push(node);
                self.level(at..end, parts, depth + 1);
                self.nodes[index].next = self.nodes.len();
            }
            at = end;
        }
    }

    /// End of the paths that share one part more with the first one. A path without further parts
    /// stays alone.
    fn group_end(&self, at: usize, end: usize, shared: usize) -> usize {
        let first = self.path(at);
        if first.len() <= shared + 1 {
            return at + 1;
        }
        let same = |i: &usize| {
            let other = self.path(*i);
            other.len() > shared + 1 && other.part(shared) == first.part(shared)
        };
        (at + 1..end).find(|i| !same(i)).unwrap_or(end)
    }

    /// Number of parts that all paths of a group share, without the last part of any. Few
    /// instances of a resource are no node.
    fn shared_parts(&self, at: usize, end: usize) -> usize {
        let (first, last) = (self.path(at), self.path(end - 1));
        // The paths are sorted, so all of them share what the first and the last one do.
        let parts = first.common(last);
        let shortest = (at..end).map(|i| self.path(i).len()).min().unwrap_or(0);
        let parts = parts.min(shortest.saturating_sub(1));
        let is_resource = parts > 0 && first.part(parts - 1).0 == Kind::Resource;
        if is_resource && end - at < MANY {
            return parts - 1;
        }
        parts
    }

    fn node(&self, leaves: Range<usize>, shared: usize, parts: usize, depth: u16) -> Node {
        let first = self.path(leaves.start);
        let address = first.prefix(parts);
        let is_resource = first.part(parts - 1).0 == Kind::Resource;
        let keys: BTreeSet<&str> = leaves
            .clone()
            .map(|i| self.path(i).part(parts))
            .filter(|part| part.0 == Kind::Key)
            .map(|part| part.1)
            .collect();
        let name = &address[first.name_start(shared)..];
        Node {
            key: if is_resource {
                format!("{address}[*]")
            } else {
                address.to_owned()
            },
            name: if keys.is_empty() {
                name.to_owned()
            } else {
                format!("{name} ({})", keys.len())
            },
            depth,
            leaves,
            next: 0,
        }
    }
}

/// Child of a node.
enum Child {
    Leaf(usize),
    Node(usize),
}

/// Arranges the rows of a tree.
struct Walk<'a> {
    tree: &'a Tree,
    how: &'a Arrangement<'a>,
    before: Vec<usize>,
    rows: Vec<Option<Row>>,
    out: Vec<Row>,
}

impl Walk<'_> {
    fn level(&mut self, leaves: Range<usize>, nodes: Range<usize>) {
        let (mut at, mut node) = (leaves.start, nodes.start);
        let mut children = Vec::new();
        while at < leaves.end {
            match self.tree.nodes[..nodes.end].get(node) {
                Some(n) if n.leaves.start == at => {
                    // Nodes whose rows are all hidden are left out.
                    if self.before[n.leaves.end] > self.before[at] {
                        children.push(Child::Node(node));
                    }
                    (at, node) = (n.leaves.end, n.next);
                }
                _ => {
                    children.push(Child::Leaf(at));
                    at += 1;
                }
            }
        }
        if self.how.descending {
            children.reverse();
        }
        for child in children {
            match child {
                Child::Leaf(at) => self.leaf(at),
                Child::Node(at) => self.node(at),
            }
        }
    }

    fn leaf(&mut self, at: usize) {
        if let Some(mut row) = self.rows[at].take() {
            let leaf = &self.tree.leaves[at];
            row.place = Some(Place {
                depth: leaf.depth,
                name_from: leaf.name_from,
                node: None,
            });
            self.out.push(row);
        }
    }

    fn node(&mut self, at: usize) {
        let node = &self.tree.nodes[at];
        let folded = (self.how.is_folded)(node);
        let mut row = Row::text(node.key.as_str(), usize::MAX);
        row.place = Some(Place {
            depth: node.depth,
            name_from: 0,
            node: Some(Box::new(NodeRow {
                at,
                folded,
                name: node.name.clone(),
            })),
        });
        self.out.push(row);
        if !folded {
            self.level(node.leaves.clone(), at + 1..node.next);
        }
    }
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
