//! `audit`: no false alarm where upstream wrote, and repairs of objects of the controllers alone.

mod fix;
mod upstream;
