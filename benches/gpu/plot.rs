//! Draws the plot of `--cases scale`.

use std::error::Error;

use plotters::prelude::*;
use stridec::shape::ElementType;

use crate::scale::{Line, Panel};

/// Draws the panels next to each other with the same axes, as SVG.
pub fn plot(file: &str, panels: &[Panel]) -> Result<(), Box<dyn Error>> {
    let width = 520 * u32::try_from(panels.len())?;
    let root = SVGBackend::new(file, (width, 440)).into_drawing_area();
    root.fill(&WHITE)?;
    let points = || panels.iter().flat_map(|panel| &panel.lines).flat_map(|line| &line.points);
    let range = |values: &mut dyn Iterator<Item = f64>| {
        let start = (f64::MAX, f64::MIN_POSITIVE);
        let (least, most) = values.fold(start, |(a, b), value| (a.min(value), b.max(value)));
        least / 1.5..most * 1.5
    };
    let sizes = range(&mut points().map(|point| point.0));
    // The range leaves room for the legend, above the small sizes.
    let costs = range(&mut points().map(|point| point.1));
    let areas = root.split_evenly((1, panels.len()));
    for (area, panel) in areas.iter().zip(panels) {
        let mut chart = ChartBuilder::on(area)
            .caption(&panel.device, ("sans-serif", 16))
            .margin(12)
            .x_label_area_size(40)
            .y_label_area_size(60)
            .build_cartesian_2d(
                sizes.clone().log_scale().base(4.0),
                (costs.start..costs.end * 8.0).log_scale(),
            )?;
        chart
            .configure_mesh()
            .x_desc("bytes of the destination")
            .y_desc("nanoseconds a byte")
            .x_label_formatter(&|bytes| format!("{} MiB", bytes / f64::from(1 << 20)))
            .y_label_formatter(&|cost| format!("{cost}"))
            .light_line_style(WHITE)
            .draw()?;
        for line in &panel.lines {
            let style = style(line);
            let points = line.points.iter().copied();
            let label = format!("{} {}", line.operation, line.element_type);
            chart
                .draw_series(LineSeries::new(points.clone(), style))?
                .label(label)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], style));
            chart.draw_series(points.map(|point| Circle::new(point, 3, style.filled())))?;
        }
        chart
            .configure_series_labels()
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK.mix(0.3))
            .position(SeriesLabelPosition::UpperLeft)
            .draw()?;
    }
    root.present()?;
    Ok(())
}

/// Returns the colour of an operation, which is paler for bytes.
fn style(line: &Line) -> ShapeStyle {
    let (strong, pale) = match line.operation {
        "copy" => (RGBColor(20, 110, 180), RGBColor(130, 185, 225)),
        "transpose" => (RGBColor(190, 60, 30), RGBColor(240, 160, 120)),
        _ => (RGBColor(40, 130, 60), RGBColor(140, 205, 150)),
    };
    let colour = if line.element_type == ElementType::U8 { pale } else { strong };
    ShapeStyle { color: colour.to_rgba(), filled: false, stroke_width: 2 }
}
