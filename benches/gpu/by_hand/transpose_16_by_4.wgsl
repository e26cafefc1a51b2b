// case: 4096x4096 transposed
// workgroups: 1024 1 1
// Blocks of 16 by 4 units, which store whole cache lines. The blocks are in patches: 4 blocks along
// the source, and 16 along the destination.
@group(0) @binding(0) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> destination: array<vec4<u32>>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let block = id.x;
    let column = block % 4u + block / 64u % 256u * 4u; // 1024 steps: source +4, destination +16384
    let row = block / 4u % 16u + block / 16384u * 16u; // 256 steps: source +65536, destination +16
    let read = row * 16384u + column; // in accesses of 4 units
    let write = column * 4096u + row * 4u; // in accesses of 4 units
    let row0 = source[read];
    let row1 = source[read + 1024u];
    let row2 = source[read + 2048u];
    let row3 = source[read + 3072u];
    let row4 = source[read + 4096u];
    let row5 = source[read + 5120u];
    let row6 = source[read + 6144u];
    let row7 = source[read + 7168u];
    let row8 = source[read + 8192u];
    let row9 = source[read + 9216u];
    let row10 = source[read + 10240u];
    let row11 = source[read + 11264u];
    let row12 = source[read + 12288u];
    let row13 = source[read + 13312u];
    let row14 = source[read + 14336u];
    let row15 = source[read + 15360u];
    destination[write] = vec4<u32>(row0.x, row1.x, row2.x, row3.x);
    destination[write + 1u] = vec4<u32>(row4.x, row5.x, row6.x, row7.x);
    destination[write + 2u] = vec4<u32>(row8.x, row9.x, row10.x, row11.x);
    destination[write + 3u] = vec4<u32>(row12.x, row13.x, row14.x, row15.x);
    destination[write + 1024u] = vec4<u32>(row0.y, row1.y, row2.y, row3.y);
    destination[write + 1025u] = vec4<u32>(row4.y, row5.y, row6.y, row7.y);
    destination[write + 1026u] = vec4<u32>(row8.y, row9.y, row10.y, row11.y);
    destination[write + 1027u] = vec4<u32>(row12.y, row13.y, row14.y, row15.y);
    destination[write + 2048u] = vec4<u32>(row0.z, row1.z, row2.z, row3.z);
    destination[write + 2049u] = vec4<u32>(row4.z, row5.z, row6.z, row7.z);
    destination[write + 2050u] = vec4<u32>(row8.z, row9.z, row10.z, row11.z);
    destination[write + 2051u] = vec4<u32>(row12.z, row13.z, row14.z, row15.z);
    destination[write + 3072u] = vec4<u32>(row0.w, row1.w, row2.w, row3.w);
    destination[write + 3073u] = vec4<u32>(row4.w, row5.w, row6.w, row7.w);
    destination[write + 3074u] = vec4<u32>(row8.w, row9.w, row10.w, row11.w);
    destination[write + 3075u] = vec4<u32>(row12.w, row13.w, row14.w, row15.w);
}
