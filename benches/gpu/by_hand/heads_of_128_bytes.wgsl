// case: program bf16 split heads, first column cut
// workgroups: 64 1 1
// Rows of 128 bytes that are whole heads, cut out of rows of 1025 units. An invocation copies a
// head at a time, 16 in turn, so that no load is made twice. stridec's kernel copies half a head.
@group(0) @binding(0) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> destination: array<vec4<u32>>;
fn joined(low: vec4<u32>, high: vec4<u32>, units: u32) -> vec4<u32> {
    let words = units / 2u;
    let shift = units % 2u * 16u;
    let by_two = words >= 2u;
    let by_one = words % 2u == 1u;
    let two = select(low, vec4<u32>(low.zw, high.xy), by_two);
    let next = select(high.xy, high.zw, by_two);
    let one = select(two, vec4<u32>(two.yzw, next.x), by_one);
    let last = select(next.x, next.y, by_one);
    let up = vec4<u32>(31u - shift);
    return (one >> vec4<u32>(shift)) | ((vec4<u32>(one.yzw, last) << vec4<u32>(1u)) << up);
}
@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let firstb = id.x / 8u * 128u + id.x % 8u;
    for (var block = firstb; block < firstb + 128u; block += 8u) {
    let a3 = 0u; let a2 = block % 8u + block / 128u % 128u * 8u; let a1 = block / 8u % 16u; let a0 = block / 16384u;
    let write = a0 * 131072u + a1 * 8192u + a2 * 8u + a3 * 8u;
    let read = a0 * 1049600u + a1 * 64u + a2 * 1025u + a3 * 64u + 1u;
    let first = read / 8u;
    let start = read % 8u;
    let access0 = source[first + 0u];
    let access1 = source[first + 1u];
    let access2 = source[first + 2u];
    let access3 = source[first + 3u];
    let access4 = source[first + 4u];
    let access5 = source[first + 5u];
    let access6 = source[first + 6u];
    let access7 = source[first + 7u];
    let access8 = source[min(first + 8u, 2099199u)];
    destination[write + 0u] = joined(access0, access1, start);
    destination[write + 1u] = joined(access1, access2, start);
    destination[write + 2u] = joined(access2, access3, start);
    destination[write + 3u] = joined(access3, access4, start);
    destination[write + 4u] = joined(access4, access5, start);
    destination[write + 5u] = joined(access5, access6, start);
    destination[write + 6u] = joined(access6, access7, start);
    destination[write + 7u] = joined(access7, access8, start);
    }
}
