// case: x[::2, ::3]
// workgroups: 960 1 1
// Runs of 12 units: all loads, word by word, before the stores.
@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> destination: array<vec2<u32>>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let row = id.x / 120u; // 2048 rows: source +8192, destination +1366
    let run = id.x % 120u; // 114 runs: source +36, destination +12
    if run >= 114u {
        return;
    }
    let left = 683u - run * 6u; // accesses that are left in the row, fewer than 6 in the last run
    let write = row * 683u + run * 6u; // in accesses of 2 units
    let read = row * 8192u + run * 36u; // in units
    let unit0 = source[min(read + 0u, 16777215u)];
    let unit1 = source[min(read + 3u, 16777215u)];
    let unit2 = source[min(read + 6u, 16777215u)];
    let unit3 = source[min(read + 9u, 16777215u)];
    let unit4 = source[min(read + 12u, 16777215u)];
    let unit5 = source[min(read + 15u, 16777215u)];
    let unit6 = source[min(read + 18u, 16777215u)];
    let unit7 = source[min(read + 21u, 16777215u)];
    let unit8 = source[min(read + 24u, 16777215u)];
    let unit9 = source[min(read + 27u, 16777215u)];
    let unit10 = source[min(read + 30u, 16777215u)];
    let unit11 = source[min(read + 33u, 16777215u)];
    destination[write] = vec2<u32>(unit0, unit1);
    if left > 1u {
        destination[write + 1u] = vec2<u32>(unit2, unit3);
    }
    if left > 2u {
        destination[write + 2u] = vec2<u32>(unit4, unit5);
    }
    if left > 3u {
        destination[write + 3u] = vec2<u32>(unit6, unit7);
    }
    if left > 4u {
        destination[write + 4u] = vec2<u32>(unit8, unit9);
    }
    if left > 5u {
        destination[write + 5u] = vec2<u32>(unit10, unit11);
    }
}
