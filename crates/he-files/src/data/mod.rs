//! Plain data: pictures and tables, and the difference of two pictures.

pub mod integers;
pub mod kind;
pub mod picture;
pub mod psnr;
pub mod table;
