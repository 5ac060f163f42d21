//! A plot of each table, as SVG and as PNG: lines along an axis, or bars of categories, on
//! logarithmic scales as in the papers.

use super::report::{Origin, Report, Table};
use crate::error::{Error, Result};
use image::{ImageFormat, RgbImage};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{Ranged, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontStyle, register_font};
use std::io::Cursor;
use std::sync::Once;

const SIZE: (u32, u32) = (1240, 600);
/// The width of the names of the columns, out of that.
const LEGEND: u32 = 320;
const FONT: &str = "sans-serif";

/// Colours that are distinct for people with any colour vision: Okabe, Ito, *Color Universal
/// Design*, 2008; the last four are darker ones of them.
const COLOURS: [RGBColor; 12] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(0, 0, 0),
    RGBColor(150, 140, 20),
    RGBColor(0, 70, 110),
    RGBColor(130, 60, 0),
    RGBColor(0, 95, 70),
    RGBColor(120, 70, 98),
];

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Plot { reason: error.to_string() }
}

/// Draws every table that has a figure, as SVG and as PNG: `take` gets the name of each file and
/// its bytes.
///
/// # Errors
/// A table cannot be drawn; the errors of `take`.
pub fn draw<E: From<Error>>(
    report: &Report,
    mut take: impl FnMut(String, Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    static FONTS: Once = Once::new();
    FONTS.call_once(|| {
        // It is refused only if it is not a font.
        let _ = register_font(FONT, FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT);
    });
    for table in &report.tables {
        let Some(range) = range(table) else { continue };
        let mut svg = String::new();
        plot(&SVGBackend::with_string(&mut svg, SIZE).into_drawing_area(), table, range)?;
        take(format!("{}.svg", table.id), svg.into_bytes())?;
        let mut pixels = RgbImage::new(SIZE.0, SIZE.1);
        plot(&BitMapBackend::with_buffer(&mut pixels, SIZE).into_drawing_area(), table, range)?;
        let mut png = Cursor::new(Vec::new());
        pixels.write_to(&mut png, ImageFormat::Png).map_err(failed)?;
        take(format!("{}.png", table.id), png.into_inner())?;
    }
    Ok(())
}

/// Whether a table has a figure that can be drawn.
pub fn is_drawn(table: &Table) -> bool {
    range(table).is_some()
}

/// The range of the figures, in whole powers of ten.
fn range(table: &Table) -> Option<(f64, f64)> {
    let figures = table
        .columns
        .iter()
        .flat_map(|column| &column.values)
        .filter_map(|value| value.number())
        .filter(|x| *x > 0.0);
    let (low, high) = figures.fold((f64::INFINITY, 0.0f64), |(low, high), x| (low.min(x), high.max(x)));
    (low <= high).then(|| {
        let (low, high) = (low.log10().floor(), (high * 1.01).log10().ceil());
        (10f64.powf(low), 10f64.powf(high.max(low + 1.0)))
    })
}

fn plot<D: DrawingBackend>(
    area: &DrawingArea<D, Shift>,
    table: &Table,
    (low, high): (f64, f64),
) -> Result<()> {
    area.fill(&WHITE).map_err(failed)?;
    let (area, names) = area.split_horizontally(SIZE.0 - LEGEND);
    legend(&names, table)?;
    let x: Option<Vec<f64>> = table.rows.iter().map(|row| row.x).collect();
    let mut chart = ChartBuilder::on(&area);
    let fonts = (FONT, 20);
    chart.caption(&table.title, fonts).margin(12).margin_right(28).y_label_area_size(84);
    let y = (low..high).log_scale();
    match x {
        Some(x) => {
            let first = x.iter().copied().fold(f64::INFINITY, f64::min);
            let last = x.iter().copied().fold(first, f64::max);
            chart.x_label_area_size(48);
            // Sizes that grow by factors are placed by their logarithms.
            if first > 0.0 && last >= 16.0 * first {
                let chart =
                    chart.build_cartesian_2d((first..last).log_scale().base(2.0), y).map_err(failed)?;
                lines(chart, table, &x)
            } else {
                let chart = chart.build_cartesian_2d(first..last.max(first + 1.0), y).map_err(failed)?;
                lines(chart, table, &x)
            }
        }
        None => {
            chart.x_label_area_size(96);
            let chart = chart.build_cartesian_2d(0f64..table.rows.len() as f64, y).map_err(failed)?;
            bars(chart, &area, table, low)
        }
    }?;
    area.present().map_err(failed)
}

/// A chart over an axis of one kind or another.
type Chart<'a, D, X> = ChartContext<'a, D, Cartesian2d<X, LogCoord<f64>>>;

/// Powers of ten as people read them.
fn power(y: &f64) -> String {
    if (1e-3..1e5).contains(y) { format!("{y}") } else { format!("{y:.0e}") }
}

fn lines<'a, D: DrawingBackend + 'a, X>(mut chart: Chart<'a, D, X>, table: &Table, x: &[f64]) -> Result<()>
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    chart
        .configure_mesh()
        .x_desc(&table.axis)
        .y_desc(table.unit.symbol())
        .x_label_formatter(&|x| format!("{x}"))
        .y_label_formatter(&power)
        .label_style((FONT, 14))
        .axis_desc_style((FONT, 16))
        .light_line_style(WHITE)
        .draw()
        .map_err(failed)?;
    for (i, column) in table.columns.iter().enumerate() {
        let colour = COLOURS[i % COLOURS.len()];
        let points: Vec<(f64, f64)> = x
            .iter()
            .zip(&column.values)
            .filter_map(|(&x, value)| value.number().filter(|y| *y > 0.0).map(|y| (x, y)))
            .collect();
        let ours = column.origin == Origin::Measured;
        let style = colour.stroke_width(if ours { 2 } else { 1 });
        chart.draw_series(LineSeries::new(points.iter().copied(), style)).map_err(failed)?;
        let point = if ours { colour.filled() } else { colour.stroke_width(1) };
        // Colours repeat after twelve columns.
        if i < COLOURS.len() {
            chart.draw_series(points.iter().map(|&at| Circle::new(at, 4, point))).map_err(failed)?;
        } else {
            chart.draw_series(points.iter().map(|&at| TriangleMarker::new(at, 5, point))).map_err(failed)?;
        }
    }
    Ok(())
}

fn bars<'a, D: DrawingBackend + 'a>(
    mut chart: Chart<'a, D, plotters::coord::types::RangedCoordf64>,
    area: &DrawingArea<D, Shift>,
    table: &Table,
    low: f64,
) -> Result<()> {
    chart
        .configure_mesh()
        .disable_x_mesh()
        .y_desc(table.unit.symbol())
        .x_labels(0)
        .y_label_formatter(&power)
        .label_style((FONT, 14))
        .axis_desc_style((FONT, 16))
        .light_line_style(WHITE)
        .draw()
        .map_err(failed)?;
    let style = (FONT, 13).into_text_style(area).pos(Pos::new(HPos::Center, VPos::Top));
    for (row, x) in table.rows.iter().zip(0..) {
        let (x, y) = chart.plotting_area().map_coordinate(&(f64::from(x) + 0.5, low));
        for (line, dy) in wrapped(&row.name, 13).iter().zip((8..).step_by(15)) {
            area.draw_text(line, &style, (x, y + dy)).map_err(failed)?;
        }
    }
    let width = 0.8 / table.columns.len().max(1) as f64;
    for (i, column) in table.columns.iter().enumerate() {
        let colour = COLOURS[i % COLOURS.len()];
        let style = fill(column.origin, colour);
        let bars = column.values.iter().enumerate().filter_map(|(row, value)| {
            let y = value.number().filter(|y| *y > 0.0)?;
            let left = row as f64 + 0.1 + width * i as f64;
            Some(Rectangle::new([(left, low), (left + width, y)], style))
        });
        chart.draw_series(bars).map_err(failed)?;
    }
    Ok(())
}

/// Lines of whole words, of at most this many characters if the words allow it.
fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The columns of papers are paler, with thin lines and hollow points.
fn fill(origin: Origin, colour: RGBColor) -> ShapeStyle {
    if origin == Origin::Measured { colour.filled() } else { colour.mix(0.45).filled() }
}

/// The columns' names, beside the plot.
fn legend<D: DrawingBackend>(area: &DrawingArea<D, Shift>, table: &Table) -> Result<()> {
    for (i, column) in table.columns.iter().enumerate() {
        let (y, colour) = (60 + 22 * i as i32, COLOURS[i % COLOURS.len()]);
        let mark = Rectangle::new([(0, y - 5), (14, y + 5)], fill(column.origin, colour));
        area.draw(&mark).map_err(failed)?;
        let name: String = column.name.chars().take(46).collect();
        area.draw(&Text::new(name, (22, y - 7), (FONT, 14))).map_err(failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Unit, Value};

    #[test]
    fn names_are_wrapped_at_words() {
        assert_eq!(wrapped("multiply, relinearise, rescale", 13), ["multiply,", "relinearise,", "rescale"]);
        assert_eq!(wrapped("a public key", 13), ["a public key"]);
        assert_eq!(wrapped("", 13), [""]);
    }

    #[test]
    fn ranges_are_powers_of_ten() {
        let of = |values: &[Value]| {
            let mut table = Table::new("t", "", "", Unit::Seconds).categories(values.iter().map(|_| ""));
            table.measured("CPU", values.iter().copied());
            range(&table)
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[Value::NotRun, Value::Nothing]), None);
        assert_eq!(of(&[Value::Number(3.0), Value::NotRun, Value::Number(0.02)]), Some((0.01, 10.0)));
        assert_eq!(of(&[Value::Number(1.0)]), Some((1.0, 10.0)));
    }
}
