//! Times the planning of reshards: `cargo bench --bench reshard`. With `--paper FILE.svg`, plans
//! for up to 65,536 devices, and draws a plot.

use std::{hint::black_box, time::Instant};

use stridec::{
    reshard::{plan, rank_plan},
    shape::Shape,
    sharding::{Placement, Sharding},
};

fn placed(shape: &Shape, sharding: &str) -> Placement {
    sharding.parse::<Sharding>().unwrap().place(shape, None).unwrap()
}

/// Returns the shortest of 7 runs, in microseconds. Each run repeats `f` for at least 20 ms.
fn microseconds(mut f: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..7 {
        let (start, mut count) = (Instant::now(), 0_u32);
        while start.elapsed().as_millis() < 20 {
            f();
            count += 1;
        }
        best = best.min(start.elapsed().as_secs_f64() * 1e6 / f64::from(count));
    }
    best
}

/// Returns the shapes of a transformer's weights, with their shardings over 64 and over 48 devices:
/// experts and vocabulary, columns, and rows.
fn transformer() -> Vec<(Shape, &'static str, &'static str)> {
    let kinds = [
        ("bf16[12288,12288]", "{devices=[8,8]<=[64]}", "{devices=[4,12]<=[48]}"),
        ("bf16[12288,49152]", "{devices=[8,8]<=[8,8]T(1,0)}", "{devices=[1,48]<=[48]}"),
        ("bf16[49152,12288]", "{devices=[64,1]<=[64]}", "{devices=[12,4]<=[4,12]T(1,0)}"),
        (
            "bf16[12288]",
            "{devices=[8,8]<=[64] last_tile_dim_replicate}",
            "{devices=[12,4]<=[48] last_tile_dim_replicate}",
        ),
    ];
    (0..1000)
        .map(|tensor| kinds[tensor % kinds.len()])
        .map(|(shape, from, to)| (shape.parse().unwrap(), from, to))
        .collect()
}

fn main() {
    let shape: Shape = "f32[8192,8192]".parse().unwrap();
    let (rows, columns) =
        (placed(&shape, "{devices=[8,1]<=[8]}"), placed(&shape, "{devices=[1,8]<=[8]}"));
    let time = microseconds(|| drop(black_box(plan(&shape, &rows, &columns).unwrap())));
    println!("plan of f32[8192,8192], 8 rows to 8 columns: {time:.1} µs");

    let tensors = transformer();
    let mut transfers = 0;
    let time = microseconds(|| {
        transfers = 0;
        for (shape, from, to) in &tensors {
            let plan = plan(shape, &placed(shape, from), &placed(shape, to)).unwrap();
            transfers += plan.transfers().len();
        }
    });
    println!("1,000 tensors, 64 to 48 devices, {transfers} transfers: {:.1} ms", time / 1e3);

    let shape: Shape = "bf16[65536,12288]".parse().unwrap();
    for (from, to) in [
        ("{devices=[65536,1]<=[65536]}", "{devices=[256,256]<=[256,256]T(1,0)}"),
        ("{devices=[65536,1]<=[65536]}", "{devices=[1,4096,16]<=[65536] last_tile_dim_replicate}"),
        (
            "{devices=[2,1,32768]<=[65536] last_tile_dim_replicate}",
            "{devices=[1,2,32768]<=[32768,2]T(1,0) last_tile_dim_replicate}",
        ),
    ] {
        let (from_placed, to_placed) = (placed(&shape, from), placed(&shape, to));
        let mut part = rank_plan(&from_placed, &to_placed, 40_001).unwrap();
        let time = microseconds(|| part = rank_plan(&from_placed, &to_placed, 40_001).unwrap());
        let (sends, receives) = (part.sends.len(), part.receives.len());
        println!(
            "one device of 65,536, {from} to {to}, {sends} sends, {receives} receives: {:.3} ms",
            time / 1e3
        );
    }

    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--paper") {
        paper(&arguments[at + 1]);
    }
}

/// Plans from rows to a square grid, for 16 to 65,536 devices. Prints the times and the sizes in
/// bytes of the plan for all devices and of the plan for one device.
fn paper(path: &str) {
    let shape: Shape = "bf16[65536,65536]".parse().unwrap();
    let (mut whole, mut own) = (Vec::new(), Vec::new());
    println!("devices, transfers, plan of all in ms, its bytes, plan of one in ms, its bytes");
    for power in 2..=8 {
        let side = 1_u64 << power;
        let devices = side * side;
        let from = placed(&shape, &format!("{{devices=[{devices},1]<=[{devices}]}}"));
        let to = placed(&shape, &format!("{{devices=[{side},{side}]<=[{devices}]}}"));
        let start = Instant::now();
        let all = plan(&shape, &from, &to).unwrap();
        let all_ms = start.elapsed().as_secs_f64() * 1e3;
        let one = microseconds(|| drop(black_box(rank_plan(&from, &to, devices / 3)))) / 1e3;
        let part = rank_plan(&from, &to, devices / 3).unwrap();
        let bytes = |transfers: usize| transfers * size_of::<stridec::reshard::Transfer>();
        let transfers = all.transfers().len();
        let of_one = part.sends.len() + part.receives.len();
        println!(
            "{devices}, {transfers}, {all_ms:.3}, {}, {one:.4}, {}",
            bytes(transfers),
            bytes(of_one)
        );
        whole.push((f64::from(u32::try_from(devices).unwrap()).log10(), all_ms.log10()));
        own.push((f64::from(u32::try_from(devices).unwrap()).log10(), one.log10()));
    }
    draw(path, &whole, &own).unwrap();
}

/// Draws both times over the number of devices, with logarithmic axes.
fn draw(
    path: &str,
    whole: &[(f64, f64)],
    own: &[(f64, f64)],
) -> Result<(), Box<dyn std::error::Error>> {
    use plotters::prelude::*;
    let root = SVGBackend::new(path, (640, 400)).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .margin(16)
        .x_label_area_size(40)
        .y_label_area_size(64)
        .caption("planning rows to a square grid of devices", ("sans-serif", 16))
        .build_cartesian_2d(1.0..5.0, -4.0..4.0)?;
    let power = |value: &f64| format!("10^{value:.0}");
    chart
        .configure_mesh()
        .x_desc("devices")
        .y_desc("ms")
        .x_label_formatter(&power)
        .y_label_formatter(&power)
        .x_labels(5)
        .y_labels(9)
        .draw()?;
    for (points, colour, name) in
        [(whole, BLUE, "the plan of all devices"), (own, RED, "the part of one device")]
    {
        chart
            .draw_series(
                LineSeries::new(points.iter().copied(), colour.stroke_width(2)).point_size(3),
            )?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour));
    }
    chart.configure_series_labels().border_style(BLACK).background_style(WHITE).draw()?;
    root.present()?;
    Ok(())
}
