//! The forms of HLO text that XLA's parser reads. Each form has its own module.

use stridec::hlo::{Footprint, MemoryReport, Module, Opcode};

/// Each module of `tests/data/xla_text/`, with the size of its buffers in bytes.
const MODULES: [(&str, u64); 27] = [
    ("01_nested", 12_288),
    ("02_noentry", 32),
    // The parameter, two values of the called computation, and the context of 4 bytes. By XLA's
    // `hlo_dataflow_analysis.cc`, a start defines only its tuples and its contexts (`kAsyncStart`
    // in `InitializeInstructionValueSets`), its operands keep their buffers
    // (`UpdateAsyncChainOperandValueSet`), and its output is the root of the called computation
    // (`UpdateAsyncChainOutputValueSet`).
    ("03_callstart", 12_292),
    ("04_inline", 12_288),
    ("05_literal", 48),
    ("06_meshgroups", 64),
    ("07_noshape", 48),
    ("08_colon", 8),
    ("09_blank", 24),
    ("10_emptytile", 4),
    ("11_convert", 72),
    ("12_placement", 72),
    ("13_copystart", 52),
    ("14_async", 52),
    ("15_adddep", 12),
    ("16_tiledbitcast", 4096),
    ("17_varscatter", 92),
    ("18_domain", 16),
    ("19_reduce1", 44),
    ("20_gds", 116),
    ("21_splatconst", 16),
    ("22_conditional", 25),
    ("23_gte_compact", 32),
    ("24_setdim_bcv", 20),
    ("25_bcv", 24),
    ("26_mixed", 44),
    ("27_overlapgather", 92),
];

fn text(name: &str) -> String {
    std::fs::read_to_string(format!("tests/data/xla_text/{name}.hlo")).unwrap()
}

#[test]
fn every_form_is_read_and_counted() {
    for (name, bytes) in MODULES {
        let text = text(name);
        let module = Module::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let report = MemoryReport::of_text(&text).unwrap();
        assert_eq!(report.total_bytes, bytes, "{name}");
        let again = MemoryReport::of_text(&module.to_string()).unwrap();
        assert_eq!(again.results_bytes, report.results_bytes, "{name}");
    }
}

#[test]
fn a_number_in_place_of_an_array_is_its_first_element() {
    let module = Module::parse("ENTRY e { ROOT c = s32[3] constant(7) }").unwrap();
    let Opcode::Constant(literal) = module.entry().instructions()[0].opcode() else { panic!() };
    assert_eq!(literal.bytes(), [7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn instructions_of_a_log_are_measured() {
    let log = "I0521 12:00:00.0 7 service.cc:186]   %f = f32[1024]{0} fusion(f32[1024]{0} %x), kind=kLoop, calls=%c";
    let report = MemoryReport::of_text(log).unwrap();
    assert_eq!((report.parameters_bytes, report.total_bytes), (4096, 8192));
}

#[test]
fn donated_and_updated_buffers_are_counted_once() {
    let of = |alias: &str, root: &str| {
        let text = format!(
            "HloModule m{alias}
             ENTRY e {{
               p = f32[256] parameter(0)
               u = f32[4] parameter(1)
               i = s32[] parameter(2)
               ROOT r = f32[256] {root}
             }}"
        );
        let report = MemoryReport::of_text(&text).unwrap();
        (report.total_bytes, report.temporaries_bytes)
    };
    let update = "dynamic-update-slice(p, u, i)";
    // The buffer of a parameter is overwritten only if it is donated.
    assert_eq!(of("", update), (1024 + 16 + 4 + 1024, 0));
    assert_eq!(of(", input_output_alias={ {}: (0, {}, may-alias) }", update), (1024 + 16 + 4, 0));
    let call = "custom-call(p), custom_call_target=\"f\", output_to_operand_aliasing={{}: (0, {})}";
    assert_eq!(of("", call), (1024 + 16 + 4, 0));
}

#[test]
fn loops_share_the_buffers_of_their_operand() {
    let text = "HloModule m
        b { t = (f32[8], s32[]) parameter(0)
            x = f32[8] get-tuple-element(t), index=0
            n = f32[8] negate(x)
            m = f32[8] negate(n)
            i = s32[] get-tuple-element(t), index=1
            ROOT r = (f32[8], s32[]) tuple(m, i) }
        c { t = (f32[8], s32[]) parameter(0)
            ROOT r = pred[] constant(true) }
        ENTRY e { p = f32[8] parameter(0)
            i = s32[] parameter(1)
            t = (f32[8], s32[]) tuple(p, i)
            ROOT w = (f32[8], s32[]) while(t), condition=c, body=b }";
    // The buffers are the parameters, and `n` in the body.
    assert_eq!(MemoryReport::of_text(text).unwrap().total_bytes, 32 + 4 + 32);
}

#[test]
fn allocations_without_a_shape_are_kept() {
    let report = "  1. Size: 29.66M\n     XLA label: register allocator spill slots\n     Allocation type: scoped\n";
    assert_eq!(MemoryReport::of_text(report).unwrap().total_bytes, 31_100_764);
    for gpu in [
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8589934592 bytes.",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has",
    ] {
        let error = MemoryReport::of_text(gpu).unwrap_err().to_string();
        assert!(error.contains("a GPU's report, which names no shapes"), "{error}");
    }
}

/// XLA's report of this allocation has 64.00M unpadded: a `pred` of 32 bits has 8 of its own.
#[test]
fn wide_elements_are_padding_beyond_the_bits_of_their_type() {
    let shape = "pred[64,512,2048]{2,1,0:T(8,128)E(32)}".parse().unwrap();
    let memory = Footprint::of(&shape).unwrap();
    assert_eq!((memory.unpadded_bytes, memory.bytes), (64 << 20, 256 << 20));
}
