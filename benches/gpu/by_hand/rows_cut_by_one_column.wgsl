// case: slice --from bf16[16384,1025] --offsets=0,1 --sizes=16384,1024 --strides=1,1
// workgroups: 2048 1 1
// Rows of split heads without their first column: 16 words an invocation, loaded 16 bytes at a time from wherever the row starts,
// moved by whole words in two selections and then by bits. The kernel of stridec loads word by word.
@group(0) @binding(0) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> destination: array<vec4<u32>>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let row = id.x / 32u; // 16384 rows: source +1025, destination +1024
    let part = id.x % 32u; // 32 parts of 32 units
    let read = row * 1025u + 1u + part * 32u; // in units
    let write = row * 128u + part * 4u; // in accesses of 8 units
    let shift = read % 2u * 16u;
    let by_one = (read & 2u) != 0u; // where the run starts in its access: at an odd word,
    let by_two = (read & 4u) != 0u; // and in its second half
    let access = read / 8u;
    let part0 = source[access];
    let part1 = source[access + 1u];
    let part2 = source[access + 2u];
    let part3 = source[access + 3u];
    let part4 = source[min(access + 4u, 2099199u)];
    let odd0 = select(part0.x, part0.y, by_one);
    let odd1 = select(part0.y, part0.z, by_one);
    let odd2 = select(part0.z, part0.w, by_one);
    let odd3 = select(part0.w, part1.x, by_one);
    let odd4 = select(part1.x, part1.y, by_one);
    let odd5 = select(part1.y, part1.z, by_one);
    let odd6 = select(part1.z, part1.w, by_one);
    let odd7 = select(part1.w, part2.x, by_one);
    let odd8 = select(part2.x, part2.y, by_one);
    let odd9 = select(part2.y, part2.z, by_one);
    let odd10 = select(part2.z, part2.w, by_one);
    let odd11 = select(part2.w, part3.x, by_one);
    let odd12 = select(part3.x, part3.y, by_one);
    let odd13 = select(part3.y, part3.z, by_one);
    let odd14 = select(part3.z, part3.w, by_one);
    let odd15 = select(part3.w, part4.x, by_one);
    let odd16 = select(part4.x, part4.y, by_one);
    let odd17 = select(part4.y, part4.z, by_one);
    let odd18 = select(part4.z, part4.w, by_one);
    let word0 = select(odd0, odd2, by_two);
    let word1 = select(odd1, odd3, by_two);
    let word2 = select(odd2, odd4, by_two);
    let word3 = select(odd3, odd5, by_two);
    let word4 = select(odd4, odd6, by_two);
    let word5 = select(odd5, odd7, by_two);
    let word6 = select(odd6, odd8, by_two);
    let word7 = select(odd7, odd9, by_two);
    let word8 = select(odd8, odd10, by_two);
    let word9 = select(odd9, odd11, by_two);
    let word10 = select(odd10, odd12, by_two);
    let word11 = select(odd11, odd13, by_two);
    let word12 = select(odd12, odd14, by_two);
    let word13 = select(odd13, odd15, by_two);
    let word14 = select(odd14, odd16, by_two);
    let word15 = select(odd15, odd17, by_two);
    let word16 = select(odd16, odd18, by_two);
    destination[write] = vec4<u32>(
        (word0 >> shift) | ((word1 << 1u) << (31u - shift)),
        (word1 >> shift) | ((word2 << 1u) << (31u - shift)),
        (word2 >> shift) | ((word3 << 1u) << (31u - shift)),
        (word3 >> shift) | ((word4 << 1u) << (31u - shift)),
    );
    destination[write + 1u] = vec4<u32>(
        (word4 >> shift) | ((word5 << 1u) << (31u - shift)),
        (word5 >> shift) | ((word6 << 1u) << (31u - shift)),
        (word6 >> shift) | ((word7 << 1u) << (31u - shift)),
        (word7 >> shift) | ((word8 << 1u) << (31u - shift)),
    );
    destination[write + 2u] = vec4<u32>(
        (word8 >> shift) | ((word9 << 1u) << (31u - shift)),
        (word9 >> shift) | ((word10 << 1u) << (31u - shift)),
        (word10 >> shift) | ((word11 << 1u) << (31u - shift)),
        (word11 >> shift) | ((word12 << 1u) << (31u - shift)),
    );
    destination[write + 3u] = vec4<u32>(
        (word12 >> shift) | ((word13 << 1u) << (31u - shift)),
        (word13 >> shift) | ((word14 << 1u) << (31u - shift)),
        (word14 >> shift) | ((word15 << 1u) << (31u - shift)),
        (word15 >> shift) | ((word16 << 1u) << (31u - shift)),
    );
}
