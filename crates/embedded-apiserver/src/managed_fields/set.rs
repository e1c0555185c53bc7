//! Sets of paths, as trees.

use std::cmp::Ordering;

use super::element::Element;

/// A set of paths. Every node is a member or has members below it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Set<'a> {
    /// In the order of their elements, each once.
    nodes: Vec<Node<'a>>,
}

/// A step, whether the path that ends with it is a member, and the paths that go on from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node<'a> {
    pub(crate) element: Element<'a>,
    pub(crate) member: bool,
    pub(crate) children: Set<'a>,
}

impl Node<'_> {
    /// True if it holds no path.
    fn is_void(&self) -> bool {
        !self.member && self.children.is_empty()
    }
}

/// A path that ends here or goes on: one part of what a walk returns to the level above.
#[derive(Debug, Default)]
pub(crate) struct Part<'a> {
    pub(crate) member: bool,
    pub(crate) children: Set<'a>,
}

impl<'a> Part<'a> {
    /// Only the path itself.
    pub(crate) fn leaf() -> Self {
        Self { member: true, children: Set::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.member && self.children.is_empty()
    }

    /// Adds it below `element`, which comes after all elements of `to`. A part without paths adds nothing.
    pub(crate) fn append_to(self, to: &mut Set<'a>, element: &Element<'a>) {
        if !self.is_empty() {
            to.nodes.push(Node { element: element.clone(), member: self.member, children: self.children });
        }
    }
}

impl<'a> Set<'a> {
    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub(crate) fn nodes(&self) -> &[Node<'a>] {
        &self.nodes
    }

    /// A set of nodes in any order. Of two nodes with one element, the later wins where both have paths below them.
    pub(crate) fn from_nodes(mut nodes: Vec<Node<'a>>) -> Self {
        nodes.retain(|node| !node.is_void());
        nodes.sort_by(|a, b| a.element.cmp(&b.element));
        nodes.dedup_by(|later, kept| {
            let double = later.element == kept.element;
            if double {
                kept.member |= later.member;
                if !later.children.is_empty() {
                    kept.children = std::mem::take(&mut later.children);
                }
            }
            double
        });
        Self { nodes }
    }

    /// The node of a step.
    pub(crate) fn get(&self, element: &Element<'_>) -> Option<&Node<'a>> {
        let at = self.nodes.binary_search_by(|node| node.element.cmp(element)).ok()?;
        self.nodes.get(at)
    }

    /// True if a path is a member.
    pub(crate) fn has(&self, path: &[Element<'_>]) -> bool {
        match path {
            [] => false,
            [last] => self.get(last).is_some_and(|node| node.member),
            [first, rest @ ..] => self.get(first).is_some_and(|node| node.children.has(rest)),
        }
    }

    /// Adds all paths of `other`.
    ///
    /// Cost: linear in both.
    #[must_use]
    pub(crate) fn union(self, other: Self) -> Self {
        if other.is_empty() {
            return self;
        }
        if self.is_empty() {
            return other;
        }
        let mut nodes = Vec::with_capacity(self.nodes.len().max(other.nodes.len()));
        let mut right = other.nodes.into_iter().peekable();
        for mut node in self.nodes {
            while let Some(earlier) = right.next_if(|other| other.element < node.element) {
                nodes.push(earlier);
            }
            if let Some(same) = right.next_if(|other| other.element == node.element) {
                node.member |= same.member;
                node.children = node.children.union(same.children);
            }
            nodes.push(node);
        }
        nodes.extend(right);
        Self { nodes }
    }

    /// The paths that are in both.
    pub(crate) fn intersection(&self, other: &Set<'_>) -> Self {
        let mut nodes = Vec::new();
        let mut right = other.nodes.iter().peekable();
        for node in &self.nodes {
            while right.next_if(|other| other.element < node.element).is_some() {}
            let Some(same) = right.next_if(|other| other.element == node.element) else { continue };
            let common = Node {
                element: node.element.clone(),
                member: node.member && same.member,
                children: node.children.intersection(&same.children),
            };
            if !common.is_void() {
                nodes.push(common);
            }
        }
        Self { nodes }
    }

    /// Removes the paths of `other`, but not the paths below them. Returns whether there were any.
    pub(crate) fn subtract(&mut self, other: &Set<'_>) -> bool {
        if other.is_empty() || self.is_empty() {
            return false;
        }
        let mut changed = false;
        let mut right = other.nodes.iter().peekable();
        for node in &mut self.nodes {
            while right.next_if(|other| other.element < node.element).is_some() {}
            let Some(same) = right.next_if(|other| other.element == node.element) else { continue };
            if node.member && same.member {
                node.member = false;
                changed = true;
            }
            changed |= node.children.subtract(&same.children);
        }
        if changed {
            self.nodes.retain(|node| !node.is_void());
        }
        changed
    }

    /// [`subtract`](Self::subtract), as a value.
    #[must_use]
    pub(crate) fn without(mut self, other: &Set<'_>) -> Self {
        self.subtract(other);
        self
    }

    /// Removes a path of field names and all paths below it.
    pub(crate) fn remove_below(&mut self, path: &[&str]) {
        let Some((first, rest)) = path.split_first() else { return };
        let Ok(at) = self.nodes.binary_search_by(|node| order_with_field(&node.element, first)) else {
            return;
        };
        let keep = match self.nodes.get_mut(at) {
            Some(node) if !rest.is_empty() => {
                node.children.remove_below(rest);
                !node.is_void()
            }
            _ => false,
        };
        if !keep {
            self.nodes.remove(at);
        }
    }

    /// Removes a path of field names, but not the paths below it.
    pub(crate) fn remove(&mut self, path: &[&str]) {
        let Some((first, rest)) = path.split_first() else { return };
        let Ok(at) = self.nodes.binary_search_by(|node| order_with_field(&node.element, first)) else {
            return;
        };
        let Some(node) = self.nodes.get_mut(at) else { return };
        if rest.is_empty() {
            node.member = false;
        } else {
            node.children.remove(rest);
        }
        if node.is_void() {
            self.nodes.remove(at);
        }
    }

    /// All members, level by level within each branch: the members of a level come before what is below them. This is
    /// upstream's order of conflicts.
    pub(crate) fn paths(&self) -> Vec<Vec<Element<'a>>> {
        let mut all = Vec::new();
        self.collect_paths(&mut Vec::new(), &mut all);
        all
    }

    fn collect_paths(&self, prefix: &mut Vec<Element<'a>>, all: &mut Vec<Vec<Element<'a>>>) {
        for node in self.nodes.iter().filter(|node| node.member) {
            let mut path = prefix.clone();
            path.push(node.element.clone());
            all.push(path);
        }
        for node in &self.nodes {
            prefix.push(node.element.clone());
            node.children.collect_paths(prefix, all);
            prefix.pop();
        }
    }
}

fn order_with_field(element: &Element<'_>, field: &str) -> Ordering {
    match element {
        Element::Field(name) => name.as_ref().cmp(field),
        _ => Ordering::Greater,
    }
}
