//! The numbers of a decrypted image as a table, with one line per pixel.

use crate::data::picture::{Channels, no_memory};
use crate::error::{ContentError, Error, Result};
use std::io::Write;

/// The numbers of an image, channel by channel, row by row from the top.
#[derive(Debug)]
pub struct Numbers {
    width: usize,
    channels: Channels,
    planes: Planes,
}

/// The numbers of each channel.
#[derive(Debug)]
enum Planes {
    Whole(Vec<Vec<i64>>),
    /// The greatest number of decimals.
    Real(Vec<Vec<f64>>, usize),
}

impl Numbers {
    /// An image of whole numbers, initially without any.
    pub fn whole(width: u32, channels: Channels) -> Self {
        let planes = Planes::Whole(vec![Vec::new(); channels.count()]);
        Self { width: width as usize, channels, planes }
    }

    /// An image of real numbers up to about `peak`, initially without any. They are written with
    /// the decimals that a fresh ciphertext determines, whose error is 2^-`precision_bits` if white
    /// is 1.
    pub fn real(width: u32, channels: Channels, precision_bits: f64, peak: u32) -> Self {
        // Three bits are left for computations; the cast saturates.
        let decimals = (precision_bits - 3.0) * std::f64::consts::LOG10_2 - f64::from(peak).log10();
        let planes = Planes::Real(vec![Vec::new(); channels.count()], (decimals as usize).min(9));
        Self { width: width as usize, channels, planes }
    }

    /// The next whole numbers of a channel.
    ///
    /// # Errors
    /// There is not enough memory for them.
    pub fn push_whole(&mut self, channel: usize, values: impl ExactSizeIterator<Item = i64>) -> Result<()> {
        match &mut self.planes {
            Planes::Whole(planes) => push(&mut planes[channel], values),
            Planes::Real(..) => Err(ContentError::RealImage.into()),
        }
    }

    /// The next real numbers of a channel.
    ///
    /// # Errors
    /// There is not enough memory for them.
    pub fn push_real(&mut self, channel: usize, values: impl ExactSizeIterator<Item = f64>) -> Result<()> {
        match &mut self.planes {
            Planes::Real(planes, _) => push(&mut planes[channel], values),
            Planes::Whole(_) => Err(ContentError::WholeImage.into()),
        }
    }

    /// Writes them as CSV: `x` and `y` from 0 at the top left, then the channels.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn write(&self, out: &mut impl Write) -> Result<()> {
        let names = self.channels.names();
        let written = match &self.planes {
            Planes::Whole(planes) => lines(out, names, planes, self.width, |&x| x.to_string()),
            Planes::Real(planes, decimals) => lines(out, names, planes, self.width, |&x| text(x, *decimals)),
        };
        written.map_err(|error| Error::io(error, "write", "the table"))
    }
}

fn push<T>(plane: &mut Vec<T>, values: impl ExactSizeIterator<Item = T>) -> Result<()> {
    // Doubles the capacity, as vectors do, but returns an error instead of aborting if that is too
    // much.
    if plane.capacity() - plane.len() < values.len() {
        plane.try_reserve(values.len().max(plane.len())).map_err(|_| no_memory())?;
    }
    plane.extend(values);
    Ok(())
}

fn lines<T>(
    out: &mut impl Write,
    names: &[&str],
    planes: &[Vec<T>],
    width: usize,
    text: impl Fn(&T) -> String,
) -> std::io::Result<()> {
    writeln!(out, "x,y,{}", names.join(","))?;
    for at in 0..planes.first().map_or(0, Vec::len) {
        write!(out, "{},{}", at % width, at / width)?;
        planes.iter().try_for_each(|plane| write!(out, ",{}", text(&plane[at])))?;
        writeln!(out)?;
    }
    Ok(())
}

/// A number with this many decimals, without trailing zeros.
fn text(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let text = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn csv(numbers: &Numbers) -> String {
        let mut out = Vec::new();
        numbers.write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_line_for_each_pixel() {
        let mut whole = Numbers::whole(2, Channels::GrayAlpha);
        whole.push_whole(0, [1, -2, i64::MIN].into_iter()).unwrap();
        whole.push_whole(0, [4].into_iter()).unwrap();
        whole.push_whole(1, [255, 0, 7, 8].into_iter()).unwrap();
        assert_eq!(csv(&whole), "x,y,gray,alpha\n0,0,1,255\n1,0,-2,0\n0,1,-9223372036854775808,7\n1,1,4,8\n");
        let mut real = Numbers::real(3, Channels::Rgb, 20.0, 255);
        for channel in 0..3 {
            real.push_real(channel, [1.0, -0.0004, 84.333_333].into_iter()).unwrap();
        }
        assert_eq!(csv(&real), "x,y,red,green,blue\n0,0,1,1,1\n1,0,0,0,0\n2,0,84.33,84.33,84.33\n");
        assert!(
            real.push_whole(0, [1].into_iter()).is_err() && whole.push_real(0, [1.0].into_iter()).is_err()
        );
    }

    #[test]
    fn decimals_are_as_many_as_there_are() {
        assert_eq!(text(1200.0, 0), "1200");
        assert_eq!(text(-0.4, 0), "0");
        assert_eq!(text(0.1 + 0.2, 9), "0.3");
        assert_eq!(text(-1e9, 2), "-1000000000");
        assert!(matches!(Numbers::real(1, Channels::Gray, 5.0, 65535).planes, Planes::Real(_, 0)));
        assert!(matches!(Numbers::real(1, Channels::Gray, 200.0, 255).planes, Planes::Real(_, 9)));
    }
}
