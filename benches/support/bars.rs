//! Draws a bar plot of shares, as SVG.
#![allow(dead_code)] // each bench uses a part

use std::error::Error;

use plotters::prelude::*;

/// The bars of a case, one for each series.
pub struct Bars {
    pub name: String,
    pub shares: Vec<f64>,
}

/// Draws a horizontal bar for each case and series, from 0 to `most`. Longer bars are cut at
/// `most`.
pub fn plot(
    file: &str,
    title: &str,
    series: &[String],
    cases: &[Bars],
    most: f64,
) -> Result<(), Box<dyn Error>> {
    const COLOURS: [RGBColor; 4] = [
        RGBColor(20, 110, 180),
        RGBColor(190, 60, 30),
        RGBColor(40, 130, 60),
        RGBColor(120, 120, 120),
    ];
    let rows = i32::try_from(cases.len())?;
    let root = SVGBackend::new(file, (900, u32::try_from(rows)? * 24 + 110)).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 16))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(310)
        .build_cartesian_2d(0.0..most, (0..rows).into_segmented())?;
    let label = |place: &SegmentValue<i32>| match place {
        SegmentValue::CenterOf(row) if (0..rows).contains(row) => {
            cases[(rows - 1 - row).unsigned_abs() as usize].name.clone()
        }
        _ => String::new(),
    };
    chart
        .configure_mesh()
        .disable_y_mesh()
        .y_labels(cases.len())
        .y_label_formatter(&label)
        .x_desc("share of the copy")
        .draw()?;
    let bar = 20 / i32::try_from(series.len())?.max(1);
    for (number, name) in series.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let below = i32::try_from(number)? * bar;
        let margins = (2 + below, 22 - below - bar);
        let bars = cases.iter().zip(0..).map(|(case, row)| {
            let row = rows - 1 - row;
            let corner = |row| SegmentValue::Exact(row);
            let share = case.shares[number].min(most);
            let mut bar =
                Rectangle::new([(0.0, corner(row)), (share, corner(row + 1))], colour.filled());
            bar.set_margin(margins.0.unsigned_abs(), margins.1.unsigned_abs(), 0, 0);
            bar
        });
        chart
            .draw_series(bars)?
            .label(name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 4), (x + 16, y + 4)], colour.filled()));
    }
    chart
        .configure_series_labels()
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .position(SeriesLabelPosition::LowerRight)
        .draw()?;
    root.present()?;
    Ok(())
}
