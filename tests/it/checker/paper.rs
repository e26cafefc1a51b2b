//! The caches and warps with which `benches/paper` counts accesses, compared with a plain list and
//! with counts made by hand.

use super::{
    instructions::Instructions,
    interpret::{Buffer, Interpreter, Place},
    machine::{CORES, Cache, Machine, SECTOR_BYTES},
    support::random::Random,
    warp::{LANES, Running, Sector, Warp},
    watch::Access,
};

/// Accesses a sector of a cache. The cache is a list of sectors with the most recently used one at
/// its end.
fn touch(list: &mut Vec<Sector>, capacity: usize, sector: Sector) -> (bool, Option<Sector>) {
    let was_there = list.contains(&sector);
    list.retain(|&other| other != sector);
    list.push(sector);
    (was_there, (list.len() > capacity).then(|| list.remove(0)))
}

#[test]
fn a_cache_keeps_what_was_used_last() {
    let mut random = Random(1);
    for capacity in 1..=9 {
        let (mut cache, mut list) = (Cache::new(capacity * SECTOR_BYTES), Vec::new());
        for _ in 0..2_000 {
            let sector = u32::try_from(random.below(14)).unwrap();
            assert_eq!(cache.touch(sector), touch(&mut list, capacity, sector));
        }
    }
}

/// Returns a warp in which each lane makes these accesses of four words each, given as a buffer and
/// a first word.
fn warp(lanes: u32, accesses: impl Fn(u32) -> Vec<(usize, usize)>) -> Warp {
    let mut warp = Warp::default();
    for lane in 0..lanes {
        for (site, (buffer, first_word)) in accesses(lane).into_iter().enumerate() {
            warp.access(Access { site, buffer, first_word, words: 4 });
        }
        warp.next_lane();
    }
    warp.finish()
}

fn run(groups: &[Vec<Warp>]) -> [[u64; 2]; 2] {
    let mut machine = Machine::new();
    machine.run(groups);
    machine.finish();
    [machine.cache, machine.memory].map(|way| [way.read, way.written])
}

/// Neighbouring lanes share sectors if they access 16 bytes each. Lanes at a distance of 128 bytes
/// share no sector.
#[test]
fn a_warp_asks_for_each_sector_once() {
    let copy =
        |step: usize| warp(LANES, |lane| vec![(0, lane as usize * step), (1, lane as usize * 4)]);
    assert_eq!(run(&[vec![copy(4)]]), [[16, 16], [16, 16]]);
    assert_eq!(run(&[vec![copy(32)]]), [[32, 16], [32, 16]]);
    let shown = copy(4);
    assert_eq!((shown.requests.len(), shown.words_written, shown.operations), (2, 128, 4));
}

/// Lanes that skip an access join the others at the next access, in one request.
#[test]
fn lanes_meet_again_behind_a_branch() {
    let skips = |lane: u32| {
        let words = lane as usize * 4;
        if lane.is_multiple_of(2) { vec![(0, words), (1, words)] } else { vec![(0, words)] }
    };
    let warp = warp(LANES, skips);
    assert_eq!(warp.requests.len(), 2);
    // Each sector is written, but only every second half of it.
    assert_eq!(run(&[vec![warp]]), [[16, 16], [16, 16]]);
}

/// A core fetches a sector once. Another core fetches it again, from the second level. Every store
/// reaches the second level.
#[test]
fn cores_share_the_second_level() {
    let one = || vec![warp(1, |_| vec![(0, 0), (0, 0), (1, 0), (1, 4)])];
    assert_eq!(run(&[one()]), [[1, 2], [1, 1]]);
    assert_eq!(run(&[one(), one()]), [[2, 4], [1, 1]]);
    let mut same_core: Vec<_> = (0..=CORES).map(|_| vec![]).collect();
    (same_core[0], same_core[CORES]) = (one(), one());
    assert_eq!(run(&same_core), [[1, 4], [1, 1]]);
}

/// A sector that is written again after it has left the cache is written to memory twice.
#[test]
fn sectors_that_leave_are_written_back() {
    let mut machine = Machine::of(SECTOR_BYTES, 4 * SECTOR_BYTES);
    for sector in [0, 1, 2, 3, 4, 0] {
        machine.write(sector);
    }
    assert_eq!(machine.memory.written, 2);
    machine.finish();
    assert_eq!((machine.memory.written, machine.cache.written), (6, 6));
    assert_eq!(machine.seen()[1].to_bits(), 5.0_f64.to_bits());
}

/// Returns the number of instructions of an invocation, for a kernel with this body.
fn instructions(body: &str) -> u64 {
    let text = format!(
        "@group(0) @binding(0) var<storage, read> source: array<u32>;
         @group(0) @binding(1) var<storage, read_write> destination: array<u32>;
         fn twice(a: u32) -> u32 {{ return a * 2u + 1u; }}
         @compute @workgroup_size(32)
         fn main(@builtin(global_invocation_id) id: vec3<u32>) {{ {body} }}"
    );
    let module = naga::front::wgsl::parse_str(&text).unwrap();
    let entry = &module.entry_points[0].function;
    let counts = Instructions::new(&module, entry);
    let buffers = [0, 1].map(|_| Buffer::new(vec![0; 64]));
    let mut interpreter = Interpreter::new(&module, entry, buffers, Running::new(&counts));
    let place = Place { group: [0; 3], local: [1, 0, 0], size: [32, 1, 1], groups: [1; 3] };
    interpreter.invoke(&place).unwrap();
    interpreter.watch.warp.finish().operations
}

/// Four bytes of four words are exchanged, at once and in pairs. The machine code for `sm_90` has
/// 27 and 20 instructions.
#[test]
fn exchanged_bytes_are_counted_as_compilers_leave_them() {
    let loads = "let a = source[id.x]; let b = source[id.x + 1u]; let c = source[id.x + 2u]; let d = source[id.x + 3u];";
    let stores = "destination[id.x] = w; destination[id.x + 1u] = x; destination[id.x + 2u] = y; destination[id.x + 3u] = z;";
    let at_once = "
        let w = (a & 0xffu) | ((b << 8u) & 0xff00u) | ((c << 16u) & 0xff0000u) | (d << 24u);
        let x = ((a >> 8u) & 0xffu) | (b & 0xff00u) | ((c << 8u) & 0xff0000u) | ((d << 16u) & 0xff000000u);
        let y = ((a >> 16u) & 0xffu) | ((b >> 8u) & 0xff00u) | (c & 0xff0000u) | ((d << 8u) & 0xff000000u);
        let z = (a >> 24u) | ((b >> 16u) & 0xff00u) | ((c >> 8u) & 0xff0000u) | (d & 0xff000000u);";
    let in_pairs = "
        let e = (a & 0xff00ffu) | ((b << 8u) & 0xff00ff00u);
        let f = ((a >> 8u) & 0xff00ffu) | (b & 0xff00ff00u);
        let g = (c & 0xff00ffu) | ((d << 8u) & 0xff00ff00u);
        let h = ((c >> 8u) & 0xff00ffu) | (d & 0xff00ff00u);
        let w = (e & 0xffffu) | (g << 16u);
        let x = (f & 0xffffu) | (h << 16u);
        let y = (e >> 16u) | (g & 0xffff0000u);
        let z = (f >> 16u) | (h & 0xffff0000u);";
    let inserted = in_pairs
        .replace("(e & 0xffffu) | (g << 16u)", "insertBits(e, g, 16u, 16u)")
        .replace("(f & 0xffffu) | (h << 16u)", "insertBits(f, h, 16u, 16u)")
        .replace("(e >> 16u) | (g & 0xffff0000u)", "insertBits(g, e >> 16u, 0u, 16u)")
        .replace("(f >> 16u) | (h & 0xffff0000u)", "insertBits(h, f >> 16u, 0u, 16u)");
    let between = |text: &str| instructions(&format!("{loads} {text} {stores}")) - 16;
    assert_eq!((between(at_once), between(in_pairs), between(&inserted)), (26, 20, 18));
}

/// The rules at the top of `benches/paper/instructions.rs`, one by one. A load and a store take two
/// instructions each.
#[test]
fn instructions_are_those_that_compilers_leave() {
    for (body, expected) in [
        ("destination[id.x] = source[id.x];", 4),
        ("destination[id.x] = source[id.x + 5u];", 4),
        ("destination[id.x] = source[min(id.x + 5u, 60u)];", 5),
        ("destination[id.x] = source[min(id.x * 3u + id.y, 60u)];", 6),
        ("destination[id.x] = source[id.x * 3u + id.y + 5u];", 5),
        // Products in sums, in any order. A product that is also used elsewhere is computed.
        ("destination[id.x] = id.x * 3u + id.y;", 3),
        ("destination[id.x] = id.x * 3u + id.y * 5u;", 4),
        ("destination[id.x] = id.x * 3u + id.y * 5u + 7u;", 4),
        ("destination[id.x] = id.x + id.y + id.z;", 3),
        ("destination[id.x] = id.x + id.y + id.z + 5u;", 4),
        ("destination[id.x] = (id.x >> 5u) + id.y;", 3),
        ("let a = id.x * 3u; destination[id.x] = a + id.y; destination[a] = 0u;", 6),
        // Shifts, masks, and words that are made of two words.
        ("destination[id.x] = (id.x << 8u) | id.y;", 3),
        ("destination[id.x] = (id.x << 8u) | (id.y << 16u) | id.z;", 4),
        ("destination[id.x] = id.x | id.y | id.z;", 3),
        ("destination[id.x] = (id.x >> 8u) | (id.y << 24u);", 3),
        ("destination[id.x] = (id.x >> 8u) | (id.y << 16u);", 4),
        ("destination[id.x] = (id.x & 0xffffu) | (id.y & 0xffff0000u);", 4),
        ("destination[id.x] = (id.x & 0xffu) | ((id.y << 8u) & 0xff00u);", 5),
        ("destination[id.x] = id.x / 8u % 4u;", 4),
        ("destination[id.x] = (id.x >> 4u) & 0xffu;", 4),
        (
            "let s = id.y % 4u * 8u; destination[id.x] = (id.x >> s) | ((id.z << 1u) << (31u - s));",
            9,
        ),
        // Divisions with a factor of 32 bits, with a shift before it, and with a correction; and
        // their remainders.
        ("destination[id.x] = id.x / 3u;", 4),
        ("destination[id.x] = id.x / 14u;", 5),
        ("destination[id.x] = id.x / 7u;", 6),
        ("destination[id.x] = id.x % 3u;", 5),
        ("let q = id.x / 3u; destination[q] = id.x - q * 3u;", 5),
        // Expressions that are computed twice or not needed, calls, and conditions.
        ("let a = id.x * 5u + id.y; destination[a] = id.x * 5u + id.y;", 3),
        ("let a = id.x / 7u; destination[id.x] = 1u;", 2),
        ("destination[id.x] = twice(id.x) + twice(id.x);", 4),
        ("destination[id.x] = twice(id.x) + twice(id.y);", 4),
        ("if id.x >= 7u { return; } destination[id.x] = 1u;", 4),
        ("destination[id.x] = select(id.x, id.y, id.x > 3u);", 4),
    ] {
        assert_eq!(instructions(body), expected, "{body}");
    }
}
