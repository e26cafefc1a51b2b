//! Shapes with numbers up to the largest that the notation accepts. Every operation is compiled or
//! refused with an error. A lowered operation reads each element from its offset in the source.

use stridec::{
    Error, ErrorKind, Operation, Target, Tensor,
    hlo::{MemoryReport, Module},
    internals::{Inspect, build, coalesce, refine, slabs, split},
    nest::{CopyNest, PositionValue},
    notation::{DlPack, NumpyArray, PjrtMemoryLayout, TensorForm, memref},
    program::{Program, compile_module},
    schedule::schedule,
    shape::{Notation, Shape},
    stride::StrideDescriptor,
    window::Slice,
};

use super::support::{random::Random, scope::cases};

const LARGE: [u64; 22] = [
    0,
    1,
    1,
    2,
    2,
    3,
    5,
    8,
    1 << 16,
    1 << 20,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    (1 << 36) + 1,
    1 << 40,
    1 << 55,
    1 << 59,
    (1 << 60) - 1,
    1 << 60,
    1 << 62,
    (1 << 63) - 1,
];
const SMALL: [u64; 9] = [0, 1, 2, 3, 4, 5, 7, 8, 16];
const TYPES: [&str; 11] =
    ["u8", "s8", "u1", "s4", "u16", "f32", "u64", "c128", "pred", "f6e2m3fn", "bf16"];

/// Returns a number. One in `rarely` numbers is large.
fn number(random: &mut Random, rarely: u64) -> u64 {
    if random.one_in(rarely) { random.pick(&LARGE) } else { random.pick(&SMALL) }
}

fn list<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(",")
}

fn tile(random: &mut Random, rarely: u64) -> String {
    let last = random.below(3);
    let entries = (0..=last).map(|at| {
        let folds = at < last && random.one_in(3);
        if folds { "*".to_owned() } else { number(random, rarely).max(1).to_string() }
    });
    format!("({})", list(entries))
}

/// Returns a tensor in notation, with a random layout or random strides.
fn tensor(random: &mut Random, element_type: &str, dimensions: &[u64], rarely: u64) -> String {
    let extents = list(dimensions);
    if random.one_in(3) {
        let strides = list(dimensions.iter().map(|_| {
            let sign = random.pick(&[1, 1, -1]);
            sign * i128::from(number(random, rarely))
        }));
        let offset = if random.one_in(2) { number(random, rarely) } else { 0 };
        return format!("{element_type}[{extents}] strided<[{strides}], offset: {offset}>");
    }
    let order = list(random.permutation(dimensions.len()));
    let padded = random.one_in(4);
    let mut fields = vec![];
    if !padded && random.one_in(2) {
        let tiles: String = (0..=random.below(3)).map(|_| tile(random, rarely)).collect();
        fields.push(format!("T{tiles}"));
    }
    if random.one_in(7) {
        fields.push(format!("L({})", number(random, rarely).max(1)));
    }
    if random.one_in(3) {
        fields.push(format!("E({})", random.pick(&[1, 2, 4, 8, 16, 32, 64, 128])));
    }
    if random.one_in(5) {
        fields.push(format!("M({})", number(random, rarely)));
    }
    if padded {
        let padded = list(dimensions.iter().map(|n| n.saturating_add(number(random, rarely))));
        fields.push(format!("PAD({padded}{})", random.pick(&["", ",one", ",lowest"])));
    }
    let colon = if fields.is_empty() { "" } else { ":" };
    format!("{element_type}[{extents}]{{{order}{colon}{}}}", fields.concat())
}

/// Returns a slice of `dimensions` with the first element and, if there are more, a distant one.
fn slice(random: &mut Random, dimensions: &[u64]) -> Slice {
    let mut slice = Slice::new([], [], []);
    for &extent in dimensions {
        let offset = random.pick(&[0, 0, extent / 2]);
        let size = (extent - offset).max(1);
        let step = random.pick(&[1, 1, 2, size - 1, size, size / 2, size / 3 + 1]).max(1);
        let step = i64::try_from(step).unwrap_or(i64::MAX);
        slice.window_offsets.push(offset);
        slice.window_sizes.push(size);
        slice.window_strides.push(random.pick(&[1, -1]) * step);
    }
    slice
}

/// Calls every function that describes a tensor.
fn describe(tensor: &Tensor) {
    let descriptor = tensor.descriptor();
    for axis in descriptor.axes() {
        let name = descriptor.coordinate_name(axis.coordinate);
        assert!(name.len() < 200, "{tensor}: {name}");
    }
    for result in [
        NumpyArray::try_from(descriptor).map(drop),
        DlPack::try_from(descriptor).map(drop),
        PjrtMemoryLayout::try_from(descriptor).map(drop),
        memref(descriptor).map(drop),
    ] {
        if let Err(error) = result {
            checked(&error.to_string());
        }
    }
    assert_eq!(descriptor.elements() == 0, descriptor.sizes().contains(&0));
    draw(tensor);
}

#[cfg(feature = "explain")]
fn draw(tensor: &Tensor) {
    use stridec::explain::{svg, terminal};
    let text = tensor.draw(|picture| terminal(picture, 80));
    let document = tensor.draw(svg);
    assert!(text.len() < 100_000 && document.len() < 1_000_000, "{tensor}");
}

#[cfg(not(feature = "explain"))]
fn draw(_: &Tensor) {}

fn checked(error: &str) {
    assert!(error.len() < 900 && error.lines().count() < 4, "{error}");
}

/// Compares the offsets in the nest, before it is widened, with the offsets of the two descriptors,
/// at random indices.
fn check_places(random: &mut Random, operation: &Operation) -> bool {
    let (source, destination) = (operation.source_descriptor(), operation.destination_descriptor());
    let prefix = |of: &StrideDescriptor| {
        let (bits, unit) = (of.prefix_bytes() * 8, u64::from(of.element_bits()));
        bits.is_multiple_of(unit).then(|| bits / unit)
    };
    let (Some(before), Some(after)) = (prefix(source), prefix(destination)) else { return false };
    if destination.elements() == 0 {
        return false;
    }
    let nest = build(source, destination, operation.window()).unwrap();
    let nest: CopyNest = coalesce(refine(nest));
    for _ in 0..8 {
        let index: Vec<u64> = destination
            .sizes()
            .iter()
            .map(|&n| match random.below(4) {
                0 => 0,
                1 => n - 1,
                _ => random.below(n),
            })
            .collect();
        let taken = operation.window().source_index(&index).unwrap();
        let expected = before + source.offset(&taken).unwrap();
        let place = after + destination.offset(&index).unwrap();
        let position = place.checked_add_signed(-nest.dst_base()).unwrap();
        assert_eq!(
            nest.read(position),
            PositionValue::Unit { source: 0, unit: expected },
            "{index:?}\n{nest}"
        );
    }
    true
}

/// Compiles an operation for small and for large targets, which may refuse it. Returns true if the
/// operation can be lowered.
fn compile(random: &mut Random, operation: Result<Operation, Error>) -> bool {
    let operation = match operation {
        Ok(operation) => operation,
        Err(error) => {
            assert!(matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Unsupported), "{error}");
            checked(&error.to_string());
            return false;
        }
    };
    let mut large = Target::webgpu();
    large.max_storage_buffer_binding_size = 1 << 40;
    for target in [Target::webgpu(), Target::webgpu_cpu(), large] {
        if let Err(error) = operation.compile(&target) {
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            checked(&error.to_string());
        }
    }
    // The first parts and slabs of a copy that is far too large for one kernel.
    if operation.destination_descriptor().elements() > 0 {
        let accept = |part: &CopyNest| schedule(part.clone(), &Target::webgpu()).map(drop);
        let mut parts = split(operation.nest(), 1 << 20, accept).take(3);
        assert!(parts.all(|part| part.is_ok()), "{}", operation.title());
        slabs(operation.nest(), 1 << 20).take(3).for_each(drop);
    }
    check_places(random, &operation)
}

#[test]
fn numbers_as_large_as_the_notation_takes() {
    let mut random = Random(21);
    let cases = cases(20_000);
    let (mut parsed, mut lowered, mut modules) = (0, 0, 0);
    for case in 0..cases {
        let rarely = random.pick(&[2, 4, 10, 30]);
        let element_type = random.pick(&TYPES);
        let rank = random.pick(&[0, 1, 1, 2, 2, 2, 3, 3, 4]);
        let dimensions: Vec<u64> = (0..rank).map(|_| number(&mut random, rarely)).collect();
        let source = tensor(&mut random, element_type, &dimensions, rarely);
        let slice = random.one_in(2).then(|| slice(&mut random, &dimensions));
        let sizes = slice.as_ref().map_or_else(|| dimensions.clone(), Slice::max_copied_elements);
        let destination = tensor(&mut random, element_type, &sizes, rarely);

        // The input, which is printed if the test panics.
        let said = Said(format!("case {case}: {source} to {destination}, {slice:?}"));
        parsed +=
            u64::from([&source, &destination].iter().all(|text| text.parse::<Notation>().is_ok()));
        if let (Ok(source), Ok(destination)) = (source.parse::<Tensor>(), destination.parse()) {
            describe(&source);
            describe(&destination);
            if slice.is_none() && copy_in_a_module(&source, &destination) {
                modules += 1;
            }
            let operation = match &slice {
                Some(slice) => Operation::slice(source, slice, Some(destination)),
                None => Operation::relayout(source, destination),
            };
            lowered += u64::from(compile(&mut random, operation));
        }
        drop(said);
    }
    eprintln!(
        "{cases} pairs: {parsed} parse, {lowered} lower and find their elements, {modules} as modules"
    );
    assert!(parsed * 2 > cases && lowered * 10 > cases, "{cases} pairs: {parsed}, {lowered}");
    assert!(modules * 100 > cases, "{cases} pairs: {modules} modules");
}

/// Returns true if a module that copies a parameter in one layout to a result in the other is
/// lowered.
fn copy_in_a_module(source: &Tensor, destination: &Tensor) -> bool {
    let (TensorForm::Shape(source), TensorForm::Shape(destination)) =
        (source.form(), destination.form())
    else {
        return false;
    };
    let text = format!(
        "HloModule m\n\nENTRY e {{\n  p = {source} parameter(0)\n  ROOT c = {destination} copy(p)\n}}\n"
    );
    Module::parse(&text).is_ok_and(|module| Program::lower(&module).is_ok())
}

/// A layout with the largest number of tiles, in which each tile splits the dimensions that the
/// tile before it combined. Neither the names of coordinates nor the time of lowering double with
/// each tile.
#[test]
fn tiles_upon_tiles() {
    let folds = format!("u8[4]{{0:T(2){}}}", "(*,2)".repeat(63));
    let towers = ["(*,7,*,11)", "(*,13,*,5)", "(*,17,*,3)"].repeat(21).concat();
    let towers = format!("u8[1000,1000]{{1,0:T(3,5){towers}}}");
    let operation = Operation::relayout(folds.parse().unwrap(), "u8[4]".parse().unwrap()).unwrap();
    let text = operation.compile(&Target::webgpu()).unwrap().into_parts().wgsl;
    assert!(text.len() < 20_000, "{} bytes", text.len());
    let module = format!(
        "HloModule m\nENTRY e {{\n p = {towers} parameter(0)\n ROOT c = u8[1000,1000]{{1,0}} copy(p)\n}}\n"
    );
    let towers = Operation::relayout(towers.parse().unwrap(), "u8[1000,1000]".parse().unwrap());
    let error = towers.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    let error = compile_module(&Module::parse(&module).unwrap(), &Target::webgpu()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
}

/// Prints its text if the test panics.
struct Said(String);

impl Drop for Said {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.0);
        }
    }
}

/// Slices that once failed with random pairs of shapes, and similar ones.
#[test]
fn slices_that_failed() {
    for (source, offset, size, stride, destination) in [
        (
            "s4[16,1099511627776]{0,1:T(*,2)(4,3)(*,3,1)}",
            [0, 0],
            [16, 1_099_511_627_776],
            [-15, -1_099_511_627_775],
            "s4[2,2] strided<[5,3], offset: 3>",
        ),
        (
            "u64[1,4611686018427387904] strided<[1,0], offset: 7>",
            [0, 0],
            [1, 4_611_686_018_427_387_904],
            [1, 4_611_686_018_427_387_904],
            "u64[1,1]{1,0:M(7)PAD(1,2)}",
        ),
    ] {
        let slice = Slice::new(offset, size, stride);
        let source: Tensor = source.parse().unwrap();
        describe(&source);
        let operation = Operation::slice(source, &slice, Some(destination.parse().unwrap()));
        compile(&mut Random(1), operation);
    }
}

/// Shapes are as large as XLA's, up to 2^63-1 bytes, and copies are refused.
#[test]
fn sizes_up_to_those_of_xla() {
    for (text, bytes) in [
        ("f32[1048576,1048576,1024,1024]", 1 << 62),
        ("f32[1048576,1048576,1024,1024]{3,2,1,0:T(8,128)}", 1 << 62),
        ("u8[9223372036854775807]", i64::MAX.unsigned_abs()),
        ("u1[9223372036854775807]{0:E(1)}", 1 << 60),
        ("c128[576460752303423487]", (1 << 63) - 16),
        ("f32[2]{0:M(9223372036854775799)}", i64::MAX.unsigned_abs()),
    ] {
        let shape: Shape = text.parse().unwrap();
        assert_eq!(StrideDescriptor::try_from(&shape).unwrap().image_bytes(), bytes, "{text}");
        describe(&text.parse().unwrap());
        let tensor: Tensor = text.parse().unwrap();
        let error = Operation::relayout(tensor.clone(), tensor).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{text}: {error}");
        let module = format!("ENTRY e {{ p = {text} parameter(0)\nROOT c = {text} copy(p) }}");
        let report = MemoryReport::of_text(&module).unwrap();
        assert_eq!((report.parameters_bytes, report.total_bytes), (bytes, 2 * bytes), "{text}");
        let prefix = shape.layout().map_or(0, |layout| layout.dynamic_shape_metadata_prefix_bytes);
        assert_eq!(report.total_padding_bytes, 2 * prefix, "{text}");
        let error = compile_module(&Module::parse(&module).unwrap(), &Target::webgpu());
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Unsupported, "{text}");
    }
    for text in ["f32[2]{0:M(9223372036854775800)}", "f32[4,2]{0,1:T(4611686018427387904)}"] {
        let shape: Shape = text.parse().unwrap();
        assert!(StrideDescriptor::try_from(&shape).is_err(), "{text}");
    }
}
