// case: every second row and third column, f16
// workgroups: 43 1 1
// Accesses of 16 bytes of four rows, which begin at different words of them. Each row is stored as
// soon as it is loaded. The words that rows share are left to the first block of each row.
@group(0) @binding(0) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> destination: array<vec4<u32>>;

fn pair(low: u32, high: u32) -> u32 {
    return (low & 0x0000ffffu) | (high & 0xffff0000u);
}

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let first = id.x / 8u * 64u + id.x % 8u;
    for (var block = first; block < min(first + 64u, 87040u); block += 8u) {
        let rows = block / 170u;
        let run = block % 170u;
        let write = rows * 683u + run;
        let read = rows * 4096u + run * 3u;
        let row0_0 = source[read];
        let row0_1 = source[read + 1u];
        let row0_2 = source[read + 2u];
        destination[write] = vec4<u32>(
            pair(row0_0.x, row0_0.y),
            pair(row0_0.w, row0_1.x),
            pair(row0_1.z, row0_1.w),
            pair(row0_2.y, row0_2.z),
        );
        let row1_0 = source[read + 1024u];
        let row1_1 = source[read + 1025u];
        let row1_2 = source[read + 1026u];
        let row1_3 = source[read + 1027u];
        destination[write + 171u] = vec4<u32>(
            pair(row1_0.w, row1_1.x),
            pair(row1_1.z, row1_1.w),
            pair(row1_2.y, row1_2.z),
            pair(row1_3.x, row1_3.y),
        );
        let row2_0 = source[read + 2049u];
        let row2_1 = source[read + 2050u];
        let row2_2 = source[read + 2051u];
        let row2_3 = source[read + 2052u];
        destination[write + 342u] = vec4<u32>(
            pair(row2_0.z, row2_0.w),
            pair(row2_1.y, row2_1.z),
            pair(row2_2.x, row2_2.y),
            pair(row2_2.w, row2_3.x),
        );
        let row3_0 = source[read + 3074u];
        let row3_1 = source[read + 3075u];
        let row3_2 = source[read + 3076u];
        destination[write + 513u] = vec4<u32>(
            pair(row3_0.y, row3_0.z),
            pair(row3_1.x, row3_1.y),
            pair(row3_1.w, row3_2.x),
            pair(row3_2.z, row3_2.w),
        );
        for (var left = select(12u, 0u, run == 0u); left < 12u; left++) {
            // Three of the row's 683 words: those before its first whole access and those after its
            // last one.
            let row = rows * 4u + left / 3u;
            let word = select(680u, 0u, left % 3u < left / 3u) + left % 3u;
            let from_word = row * 4096u + word * 3u;
            let low = source[from_word / 4u][from_word % 4u];
            let high = source[(from_word + 1u) / 4u][(from_word + 1u) % 4u];
            let to_word = row * 683u + word;
            destination[to_word / 4u][to_word % 4u] = pair(low, high);
        }
    }
}
