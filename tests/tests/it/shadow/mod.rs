//! `shadow` beside upstream.

mod planted;
