//! The order in which entries belong to a conversation, where links between them are missing.
//!
//! A transcript is written in order. Programs that merge or copy files may reorder lines, and clocks may be set: the
//! order that agrees best with the links that are left is used.

use std::cmp::Ordering;

use super::graph::ItemIndex;

/// What the order of an entry is decided by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// The offset of its first line.
    pub(crate) place: u64,
    /// Its time.
    pub(crate) time: Option<i64>,
}

/// An order of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// As in the file.
    File,
    /// The last line first.
    Reversed,
    /// By time.
    Time,
}

/// Gives entries without a time that of their parent, or of the line before them.
pub(crate) fn fill_times(keys: &mut [Key], parents: &[Option<ItemIndex>]) {
    let mut last = None;
    for item in 0..keys.len() {
        if keys[item].time.is_none() {
            keys[item].time = parents[item].and_then(|parent| keys[parent].time).or(last);
        }
        last = keys[item].time.or(last);
    }
}

/// Compares the positions of two entries.
pub(crate) fn compare(keys: &[Key], order: Order, one: ItemIndex, other: ItemIndex) -> Ordering {
    let (a, b) = (&keys[one], &keys[other]);
    match order {
        Order::File => a.place.cmp(&b.place),
        Order::Reversed => b.place.cmp(&a.place),
        Order::Time => (a.time, a.place).cmp(&(b.time, b.place)),
    }
}

/// Returns the order in which the fewest entries come before their parents.
pub(crate) fn choose(keys: &[Key], links: &[(ItemIndex, ItemIndex)]) -> Order {
    let orders = [Order::File, Order::Reversed, Order::Time];
    orders.into_iter().min_by_key(|&order| contradictions(keys, links, order)).unwrap_or(Order::File)
}

/// Returns how many entries come before their parents.
fn contradictions(keys: &[Key], links: &[(ItemIndex, ItemIndex)], order: Order) -> usize {
    links.iter().filter(|&&(child, parent)| compare(keys, order, child, parent).is_lt()).count()
}

/// Returns all entries in an order, but each after its parent.
pub(crate) fn sequence(keys: &[Key], parents: &[Option<ItemIndex>], order: Order) -> Vec<ItemIndex> {
    let mut sorted: Vec<ItemIndex> = (0..keys.len()).collect();
    sorted.sort_by(|&one, &other| compare(keys, order, one, other));
    let mut is_placed = vec![false; keys.len()];
    let mut sequence = Vec::with_capacity(keys.len());
    let mut waiting = Vec::new();
    for item in sorted {
        let mut current = Some(item);
        while let Some(one) = current.filter(|&one| !is_placed[one]) {
            is_placed[one] = true;
            waiting.push(one);
            current = parents[one];
        }
        sequence.extend(waiting.drain(..).rev());
    }
    sequence
}
