//! Names of models, branches and the like: few different ones, each of them many times.

use std::collections::HashMap;

use foldhash::fast::FixedState;

/// The number of a name; 0 if there is none.
pub type NameId = u32;

/// A table of names.
#[derive(Clone, Debug)]
pub struct Names {
    texts: Vec<Box<str>>,
    ids: HashMap<Box<str>, NameId, FixedState>,
}

impl Default for Names {
    fn default() -> Self {
        let mut names = Self { texts: Vec::new(), ids: HashMap::default() };
        names.id("");
        names
    }
}

impl PartialEq for Names {
    fn eq(&self, other: &Self) -> bool {
        self.texts == other.texts
    }
}

impl Names {
    /// Returns the number of a name, which is added if it is new. An empty name is 0.
    pub fn id(&mut self, name: &str) -> NameId {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let id = NameId::try_from(self.texts.len()).unwrap_or(0);
        self.texts.push(name.into());
        self.ids.insert(name.into(), id);
        id
    }

    /// Returns the number of a name, if it is in the table.
    pub fn find(&self, name: &str) -> Option<NameId> {
        self.ids.get(name).copied()
    }

    /// Returns a name; it is empty for a number that the table does not have.
    pub fn text(&self, id: NameId) -> &str {
        self.texts.get(id as usize).map_or("", |text| text)
    }

    /// Returns all names in the order of their numbers. The first one is empty.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.texts.iter().map(|text| &**text)
    }
}
