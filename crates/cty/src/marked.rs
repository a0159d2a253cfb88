//! Adding and removing marks, at the top of a value or at every depth.

use crate::value::Data;
use crate::{Mark, Marks, Members, Path, PathStep, Value};

impl Value {
    /// Adds one mark.
    pub fn mark(self, mark: Mark) -> Value {
        self.with_marks(&Marks::one(mark))
    }

    /// Adds marks.
    pub fn with_marks(mut self, marks: &Marks) -> Value {
        if !marks.is_empty() {
            self.marks.extend(marks);
            self.deep.marked = true;
        }
        self
    }

    /// Returns the marks of this value, without those inside it.
    pub fn marks(&self) -> &Marks {
        &self.marks
    }

    /// Returns true if this value itself is marked.
    pub fn is_marked(&self) -> bool {
        !self.marks.is_empty()
    }

    /// Returns true if this value itself has the mark.
    pub fn has_mark(&self, mark: &Mark) -> bool {
        self.marks.contains(mark)
    }

    /// Returns true if this value or anything inside it is marked.
    pub fn contains_marked(&self) -> bool {
        self.deep.marked
    }

    /// Returns true if this value or anything inside it has the mark.
    pub fn contains_mark(&self, mark: &Mark) -> bool {
        self.deep.marked && (self.has_mark(mark) || self.children().any(|c| c.contains_mark(mark)))
    }

    /// Returns true if this value or anything inside it is sensitive or ephemeral, and must be
    /// redacted.
    pub fn needs_redaction(&self) -> bool {
        self.deep.marked
            && (self.marks.needs_redaction() || self.children().any(Value::needs_redaction))
    }

    /// Returns the part of a path that may be shown, if its target, a container on the way or
    /// something inside the target must be redacted; `None` if nothing must be.
    pub fn shown_prefix(&self, path: &Path) -> Option<Path> {
        let (mut at, mut told) = (self.clone(), Path::root());
        for step in path.steps() {
            // The keys of a redacted container must not be shown, so the path ends there.
            if at.marks.needs_redaction() || !at.deep.marked {
                break;
            }
            match step.apply(&at) {
                Ok(next) => at = next,
                Err(_) => break,
            }
            told.push(step.clone());
        }
        at.needs_redaction().then_some(told)
    }

    /// Removes the marks of this value itself, and returns them. Marks inside stay.
    pub fn unmark(mut self) -> (Value, Marks) {
        let marks = std::mem::take(&mut self.marks);
        if !marks.is_empty() {
            let inside = self.children().any(|c| c.deep.marked);
            self.deep.marked = inside;
        }
        (self, marks)
    }

    /// Removes all marks at every depth, and returns them.
    pub fn unmark_deep(self) -> (Value, Marks) {
        let mut all = Marks::none();
        if !self.deep.marked {
            return (self, all);
        }
        let bare = strip(&self, &mut Path::root(), &mut |_, marks| all.extend(marks));
        (bare, all)
    }

    /// Removes all marks at every depth, and returns them with their paths, outermost first.
    pub fn unmark_deep_with_paths(self) -> (Value, Vec<(Path, Marks)>) {
        let mut all = Vec::new();
        if !self.deep.marked {
            return (self, all);
        }
        let bare = strip(&self, &mut Path::root(), &mut |path, marks| {
            all.push((path.clone(), marks.clone()))
        });
        (bare, all)
    }

    /// Restores marks at the paths from [`Value::unmark_deep_with_paths`]. A path into a set marks
    /// the set; a path that does not exist is ignored.
    pub fn mark_with_paths(self, marks: &[(Path, Marks)]) -> Value {
        marks.iter().fold(self, |value, (path, m)| {
            if m.is_empty() {
                value
            } else {
                mark_at(&value, path.steps(), m)
            }
        })
    }

    /// Iterates over the direct members of a known container.
    pub fn children(&self) -> impl Iterator<Item = &Value> {
        let (seq, map) = match &self.data {
            Data::Seq(elements) => (Some(elements.iter()), None),
            Data::Map(members) => (None, Some(members.values())),
            _ => (None, None),
        };
        seq.into_iter().flatten().chain(map.into_iter().flatten())
    }

    /// Returns the same container with other content of the same types. Its own marks are kept.
    pub(crate) fn with_content(&self, data: Data) -> Value {
        let mut value = Value {
            ty: self.ty.clone(),
            data,
            marks: self.marks.clone(),
            deep: Default::default(),
        };
        // The cached facts must be computed again, because the new content can have other marks.
        value.deep.unknown = !value.is_known() || value.children().any(|c| c.deep.unknown);
        value.deep.marked = !value.marks.is_empty() || value.children().any(|c| c.deep.marked);
        value.deep.inner_count = value
            .children()
            .fold(0, |inside, c| c.size().saturating_add(inside));
        value
    }
}

fn strip(value: &Value, path: &mut Path, found: &mut dyn FnMut(&Path, &Marks)) -> Value {
    if !value.deep.marked {
        return value.clone();
    }
    if !value.marks.is_empty() {
        found(path, &value.marks);
    }
    let data = match &value.data {
        Data::Seq(elements) => {
            let set = value.ty.is_set();
            let bare = elements.iter().enumerate().map(|(i, e)| {
                path.push(PathStep::Index(if set {
                    e.clone()
                } else {
                    Value::number(i)
                }));
                let bare = strip(e, path, found);
                path.pop();
                bare
            });
            Data::Seq(bare.collect())
        }
        Data::Map(members) => {
            let object = value.ty.is_object();
            let bare = members.iter().map(|(k, e)| {
                path.push(if object {
                    PathStep::Attr(k.clone())
                } else {
                    PathStep::Index(Value::string(k))
                });
                let bare = strip(e, path, found);
                path.pop();
                (k.clone(), bare)
            });
            Data::Map(bare.collect())
        }
        other => other.clone(),
    };
    let mut bare = value.with_content(data);
    bare.marks = Marks::none();
    bare.deep.marked = false;
    bare
}

fn mark_at(value: &Value, steps: &[PathStep], marks: &Marks) -> Value {
    let Some((step, rest)) = steps.split_first() else {
        return value.clone().with_marks(marks);
    };
    match (&value.data, step) {
        (Data::Map(members), PathStep::Attr(name)) => {
            mark_member(value, members, name, rest, marks)
        }
        (Data::Map(members), PathStep::Index(key)) => match key.as_str() {
            Some(name) => mark_member(value, members, name, rest, marks),
            None => value.clone(),
        },
        // Elements of sets cannot be marked: a set keeps their marks on itself.
        (Data::Seq(_), PathStep::Index(_)) if value.ty.is_set() => value.clone().with_marks(marks),
        (Data::Seq(elements), PathStep::Index(key)) => {
            let Some(i) = key
                .as_number()
                .and_then(|n| n.to_usize())
                .filter(|i| *i < elements.len())
            else {
                return value.clone();
            };
            let mut elements = elements.to_vec();
            elements[i] = mark_at(&elements[i], rest, marks);
            value.with_content(Data::Seq(elements.into()))
        }
        _ => value.clone(),
    }
}

fn mark_member(
    value: &Value,
    members: &Members,
    name: &str,
    rest: &[PathStep],
    marks: &Marks,
) -> Value {
    match members.with(name, |member| mark_at(member, rest, marks)) {
        Some(members) => value.with_content(Data::Map(members)),
        None => value.clone(),
    }
}
