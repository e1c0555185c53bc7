//! Tests of the program as a whole.

mod generated_docs;
