//! Gathers the items of parallel iterators in collections.

pub mod either;
pub mod extend;
pub mod from;
pub mod in_place;
pub mod maps;
pub mod rope;
pub mod strings;
pub mod unzip;
