//! Times the compilation from shape text to WGSL, with and without naga's validation.
//!
//! `cargo bench --no-default-features --bench lower`

use std::{hint::black_box, time::Duration};

use criterion::{Criterion, criterion_group, criterion_main};
use stridec::{Operation, Target};

const CASES: [(&str, &str, &str); 6] = [
    ("nchw_to_nhwc", "f32[8,64,112,112]{3,2,1,0}", "f32[8,64,112,112]{1,3,2,0}"),
    ("u8_nchw_to_nhwc", "u8[8,64,112,112]{3,2,1,0}", "u8[8,64,112,112]{1,3,2,0}"),
    ("reversed_5d", "f32[16,28,28,28,48]{4,3,2,1,0}", "f32[16,28,28,28,48]{0,1,2,3,4}"),
    ("padded", "f32[1000,1000]{1,0}", "f32[1000,1000]{0,1:PAD(1024,1024,lowest)}"),
    ("tiled", "bf16[512,1000]{1,0}", "bf16[512,1000]{1,0:T(8,128)(2,1)}"),
    ("retiled", "f32[100,100]{1,0:T(6,10)}", "f32[100,100]{1,0:T(4,8)}"),
];

fn lower(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("lower");
    group.measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_millis(500));
    let target = Target::webgpu();
    for (name, source, destination) in CASES {
        let operation = || {
            Operation::relayout(
                black_box(source).parse().expect("a valid notation"),
                black_box(destination).parse().expect("a valid notation"),
            )
            .expect("a valid relayout")
        };
        group.bench_function(format!("{name}/text"), |bencher| {
            bencher.iter(|| operation().compile_unvalidated(&target).expect("fits the target"));
        });
        group.bench_function(format!("{name}/validated"), |bencher| {
            bencher.iter(|| operation().compile(&target).expect("fits the target"));
        });
    }
    group.finish();
}

criterion_group!(benches, lower);
criterion_main!(benches);
