//! The 57 transposes of the TTC benchmark: stridec on the host compared with HPTT, `strided-perm`
//! and a plain copy.

mod estimate;
#[path = "../../support/permutation.rs"]
mod permutation;
#[path = "../../support/timing.rs"]
mod timing;

use bytemuck::{Pod, Zeroable};
use permutation::Permutation;
use rayon::ThreadPoolBuilder;
use stridec::{
    host,
    nest::{self, CopyNest},
    shape::ElementType,
    stride::StrideDescriptor,
    window::Window,
};
use strided_view::{StridedView, StridedViewMut, row_major_strides};
use timing::{Contender, Report, Timing, geomean, option, round_robin};

/// A cache line, so that every buffer has the alignment that HPTT's streaming stores need.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// Returns a buffer of at least `bytes` bytes.
fn buffer(bytes: usize) -> Vec<Line> {
    vec![Line([0xa5; 64]); bytes.div_ceil(64)]
}

/// A row-major transpose.
struct Case {
    permutation: Permutation,
    /// The sizes of the source.
    sizes: Vec<usize>,
}

fn cases(path: &str) -> Vec<Case> {
    let text = std::fs::read_to_string(path).expect("the file of cases");
    let cases = permutation::ttc(&text).expect("cases in JSON").into_iter();
    cases
        .map(|permutation| {
            let sizes = permutation.sizes.iter().map(|&n| n as usize).collect();
            Case { permutation, sizes }
        })
        .collect()
}

/// Returns the case as a change of layout, with the dimensions of the source in the order of the
/// permutation in memory.
fn nest(case: &Case, element_type: ElementType) -> CopyNest {
    let sides = case.permutation.sides(element_type).expect("two shapes");
    let [source, destination] =
        sides.map(|shape| StrideDescriptor::try_from(&shape).expect("a descriptor"));
    let window = Window::identity(&case.permutation.sizes);
    nest::lower(&source, &destination, &window).expect("a nest")
}

fn strided<T: Copy + Send + Sync + 'static>(
    case: &Case,
    source: &[T],
    destination: &mut [T],
    exec: threadteam::Exec<'_>,
) {
    let view = StridedView::<T>::new(source, &case.sizes, &row_major_strides(&case.sizes), 0)
        .and_then(|view| view.permute(&case.permutation.order))
        .expect("a view");
    let sizes: Vec<usize> = case.permutation.order.iter().map(|&d| case.sizes[d]).collect();
    let mut out = StridedViewMut::<T>::new(destination, &sizes, &row_major_strides(&sizes), 0)
        .expect("a view");
    strided_perm::copy_into(&mut out, &view, exec).expect("a copy");
}

/// The options of the command line.
struct Options {
    cases: Vec<Case>,
    only: Option<Vec<usize>>,
    widths: Vec<usize>,
    repetitions: usize,
}

fn main() {
    let numbers = |list: String| -> Vec<usize> {
        list.split(',').map(|n| n.parse().expect("a list of numbers")).collect()
    };
    let options = Options {
        cases: cases(&option("--cases").unwrap_or_else(|| "../data/ttc57_24MiB.json".to_owned())),
        only: option("--only").map(numbers),
        widths: option("--bytes").map_or(vec![4, 8], numbers),
        repetitions: option("--repetitions").map_or(15, |n| n.parse().expect("a number")),
    };
    let mut report = Report::new("host");
    for threads in option("--threads").map_or(vec![1, 2], numbers) {
        // All implementations are called from a thread of this pool.
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| {
            for &width in &options.widths {
                compare_all(&options, threads, width, &mut report);
            }
        });
    }
}

/// Times every case at one element width, and prints the geometric means.
fn compare_all(options: &Options, threads: usize, width: usize, report: &mut Report) {
    let team = threadteam::Pool::builder().threads(threads).build().expect("threads");
    let mut ratios: Vec<[f64; 3]> = Vec::new();
    for (number, case) in options.cases.iter().enumerate() {
        if options.only.as_ref().is_some_and(|only| !only.contains(&number)) {
            continue;
        }
        let timings = compare(case, width, threads, &team, options.repetitions);
        report
            .add(&format!("{} f{} {threads} threads", case.permutation.name, width * 8), &timings);
        let [ours, hptt, strided, copy] = std::array::from_fn(|n: usize| timings[n].best_ms);
        ratios.push([hptt / ours, strided / ours, copy / ours]);
    }
    let better = ratios.iter().map(|r| r[0].min(r[1]));
    println!(
        "f{} {threads} threads: geomean over hptt {:.3}, strided-perm {:.3}, the better {:.3} (least {:.3}), memcpy {:.3}",
        width * 8,
        geomean(ratios.iter().map(|r| r[0])),
        geomean(ratios.iter().map(|r| r[1])),
        geomean(better.clone()),
        better.fold(f64::INFINITY, f64::min),
        geomean(ratios.iter().map(|r| r[2])),
    );
}

/// Times one case. Every output is compared in full.
fn compare(
    case: &Case,
    width: usize,
    threads: usize,
    team: &threadteam::Pool,
    repetitions: usize,
) -> Vec<Timing> {
    let bytes = case.sizes.iter().product::<usize>() * width;
    let mut source = buffer(bytes);
    for (n, word) in bytemuck::cast_slice_mut::<_, u32>(&mut source).iter_mut().enumerate() {
        *word = (n as u32).wrapping_mul(0x9e37_79b1) >> 2; // No NaN: HPTT multiplies.
    }
    let source = &bytemuck::cast_slice::<_, u8>(&source)[..bytes];
    let mut outs = [(); 4].map(|()| buffer(bytes));
    let [ours, theirs, strides, copy] =
        outs.each_mut().map(|out| &mut bytemuck::cast_slice_mut::<_, u8>(out)[..bytes]);
    let nest = nest(case, if width == 4 { ElementType::F32 } else { ElementType::F64 });
    let mut plan =
        estimate::Plan::new(width, &case.permutation.order, &case.sizes, source, theirs, threads);
    let strided_perm = || {
        let exec = threadteam::Exec::new(team, threads).expect("threads");
        if width == 4 {
            let (source, out) = (bytemuck::cast_slice(source), bytemuck::cast_slice_mut(strides));
            strided::<f32>(case, source, out, exec);
        } else {
            let (source, out) = (bytemuck::cast_slice(source), bytemuck::cast_slice_mut(strides));
            strided::<f64>(case, source, out, exec);
        }
    };
    let contender = |name: &str, run| Contender { name: name.to_owned(), bytes, run };
    let contenders = vec![
        contender("stridec", Box::new(|| host::run(&nest, source, ours).expect("a run"))),
        contender("hptt", Box::new(|| plan.execute())),
        contender("strided-perm", Box::new(strided_perm)),
        contender("memcpy", Box::new(|| copy.copy_from_slice(source))),
    ];
    let timings = round_robin(repetitions, threads > 1, contenders);
    drop(plan);
    let [ours, theirs, strides, _] =
        outs.each_ref().map(|out| &bytemuck::cast_slice::<_, u8>(out)[..bytes]);
    assert!(ours == theirs, "{}: HPTT differs", case.permutation.name);
    assert!(ours == strides, "{}: strided-perm differs", case.permutation.name);
    timings
}
