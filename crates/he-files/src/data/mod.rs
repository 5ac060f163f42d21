//! Data in the clear: pictures and tables, and how much two pictures differ.

pub mod picture;
pub mod psnr;
pub mod table;
