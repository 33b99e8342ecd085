//! Pages, which are bounded in their number of items and in bytes.

use super::LONGEST_PAGE;
use super::load::LoadedMessage;
use crate::cancel::CancelToken;
use crate::rpc::Error;
use annals_proto as wire;

/// Items that are sent together.
pub(super) struct Page<T> {
    pub(super) items: Vec<T>,
    /// The index after the last item that was looked at.
    pub(super) end: usize,
}

/// Collects what `make` returns for one index after another, until there are `limit` items or the page has `bytes` bytes. The
/// first item is taken whatever its size.
pub(super) fn gather<T: Weigh>(
    indices: impl Iterator<Item = usize>,
    limit: usize,
    bytes: usize,
    cancelled: &CancelToken,
    mut make: impl FnMut(usize) -> Result<Option<T>, Error>,
) -> Result<Vec<(usize, T)>, Error> {
    let mut gathered = Vec::new();
    let mut size = 0;
    for index in indices {
        cancelled.check()?;
        if gathered.len() == limit || size >= bytes {
            break;
        }
        if let Some(item) = make(index)? {
            size += item.size();
            gathered.push((index, item));
        }
    }
    Ok(gathered)
}

/// Collects a page from an index on.
pub(super) fn forward<T: Weigh>(
    start: usize,
    count: usize,
    limit: usize,
    cancelled: &CancelToken,
    mut make: impl FnMut(usize) -> Result<Option<T>, Error>,
) -> Result<Page<T>, Error> {
    let mut end = start;
    let gathered = gather(start..count, limit, LONGEST_PAGE, cancelled, |index| {
        let item = make(index)?;
        end = index + 1;
        Ok(item)
    })?;
    Ok(Page { items: gathered.into_iter().map(|(_, item)| item).collect(), end })
}

/// Items with an approximate size in JSON.
pub(super) trait Weigh {
    /// Returns about how many bytes it takes.
    fn size(&self) -> usize;
}

/// The bytes of an item besides its texts.
const FRAME: usize = 500;

fn text_size(text: Option<&str>) -> usize {
    text.map_or(0, str::len)
}

fn weight(input: &wire::Input) -> usize {
    FRAME + input.text.len()
}

impl Weigh for wire::HistoryItem {
    fn size(&self) -> usize {
        let Some(entry) = self.body.entry() else { return FRAME };
        let parts = entry.parts.iter().map(|part| part.get().len());
        FRAME + parts.chain(entry.inputs.iter().map(weight)).sum::<usize>()
    }
}

impl Weigh for wire::ViewRow {
    fn size(&self) -> usize {
        let nodes = [&self.nodes, &self.input, &self.output].into_iter().flatten();
        FRAME + 2 * nodes.map(|nodes| annals_render::byte_count(nodes)).sum::<usize>()
    }
}

impl Weigh for wire::ChatMessage {
    fn size(&self) -> usize {
        // Replies have their text twice: as a whole and in blocks.
        FRAME
            + self.content_blocks.iter().map(Weigh::size).sum::<usize>()
            + 2 * (self.content.len() + text_size(self.thought.as_deref()))
            + self.tool_calls.iter().map(Weigh::size).sum::<usize>()
    }
}

impl Weigh for wire::ChatToolCall {
    fn size(&self) -> usize {
        let values = [&self.input, &self.result].into_iter().flatten();
        FRAME + values.map(|value| value.get().len()).sum::<usize>() + text_size(self.error.as_deref())
    }
}

/// Only images: the text of a message is counted as a whole.
impl Weigh for wire::ChatBlock {
    fn size(&self) -> usize {
        match self {
            wire::ChatBlock::Image { data, url, .. } => {
                FRAME + text_size(data.as_deref()) + text_size(url.as_deref())
            }
            _ => 0,
        }
    }
}

impl Weigh for LoadedMessage {
    fn size(&self) -> usize {
        let inputs = self.message.iter().flat_map(|message| &message.inputs).map(weight);
        let team = self.team.iter().map(|message| FRAME + message.content.len());
        self.message.as_ref().map_or(0, Weigh::size) + inputs.sum::<usize>() + team.sum::<usize>()
    }
}

impl Weigh for wire::Turn {
    fn size(&self) -> usize {
        FRAME + self.prompt.len()
    }
}

impl Weigh for wire::Agent {
    fn size(&self) -> usize {
        let texts =
            [&self.agent_type, &self.name, &self.description, &self.worktree_path].into_iter().flatten();
        let metadata = self.metadata.as_ref().map_or(0, |metadata| metadata.get().len());
        2 * FRAME + metadata + texts.map(String::len).sum::<usize>()
    }
}

impl Weigh for wire::ToolCall {
    fn size(&self) -> usize {
        let input = self.input.as_ref().map_or(0, |input| input.get().len());
        FRAME + input + self.subject.len() + self.files.iter().map(String::len).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Weigh for usize {
        fn size(&self) -> usize {
            *self
        }
    }

    /// Returns a page of the numbers from 0 to 9, each of which has its own size.
    fn page(limit: usize, bytes: usize) -> Vec<usize> {
        let gathered = gather(0..10, limit, bytes, &CancelToken::default(), |number| Ok(Some(number)));
        gathered.unwrap().into_iter().map(|(_, size)| size).collect()
    }

    #[test]
    fn a_page_ends_at_its_limit_or_when_it_has_enough_bytes() {
        assert_eq!(page(3, 100), [0, 1, 2]);
        assert_eq!(page(100, 6), [0, 1, 2, 3], "the one that fills it is whole");
        assert_eq!(page(100, 1000).len(), 10);
    }

    #[test]
    fn what_is_passed_over_is_not_asked_for_again() {
        let page =
            forward(
                2,
                10,
                2,
                &CancelToken::default(),
                |place| Ok(Some(place).filter(|place| place % 2 == 1)),
            );
        let page = page.unwrap();
        assert_eq!((page.items, page.end), (vec![3, 5], 6));
    }

    #[test]
    fn work_that_is_taken_back_ends_between_two_things() {
        let cancelled = CancelToken::default();
        let mut made = 0;
        let gathered = gather(0..10, 10, 1000, &cancelled, |place| {
            made += 1;
            if place == 3 {
                cancelled.cancel();
            }
            Ok(Some(place))
        });
        assert_eq!((gathered.unwrap_err().code, made), (annals_proto::ErrorCode::Cancelled, 4));
    }
}
