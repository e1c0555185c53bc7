//! The objects that subcommands are given: from files, directories and stdin, with their places for error messages.
//!
//! ```text
//! source (files, stdin) ─> document (YAML or JSON to a tree) ─> object (lists taken apart) ─> the subcommand
//! ```

pub mod document;
pub mod object;
pub mod position;
pub mod problem;
pub mod source;

use object::{NoObject, Object};
use source::Source;

/// Reads the objects of all sources.
///
/// # Errors
/// The first text or element that is not an object, as a line.
pub fn objects(sources: &[Source]) -> Result<Vec<Object>, String> {
    let mut objects = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        let documents = document::parse(&source.text);
        for document in documents.map_err(|error| problem::unreadable(source, &error))? {
            let found = object::objects(index, document);
            objects.extend(found.map_err(|NoObject { origin, field, reason }| {
                problem::of_field(sources, &origin, field, reason)
            })?);
        }
    }
    Ok(objects)
}
