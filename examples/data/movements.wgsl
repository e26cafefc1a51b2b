// result 0 of movements
// source       parameter 0, u8[7,13,3]
// destination  result 0, u8[3,7,13]{2,0,1}
// nest         units of 1 byte: 273 in the source, read from unit 36; 273 in the destination
//              a0: 7 steps, source +39, destination +39
//              a1: 3 steps, source +1, destination +13
//              a2: 13 steps, source -3, destination +1
// schedule     gather: it costs less than every block; 69 invocations of 4 units of 1 byte
// proof        reads words up to 68 of 69, writes words up to 68 of 69, no loop
@group(0) @binding(0) var<storage, read_write> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> destination: array<u32>;

// The unit at `position` of the destination; positions and steps count units of 1 byte.
fn unit(position: u32) -> u32 {
    if position >= 273u {
        return 0u; // past the image
    }
    let rest1 = position / 13u;
    let rest2 = rest1 / 3u;
    let a0 = rest2; // 7 steps: source +39, destination +39
    let a1 = rest1 - rest2 * 3u; // 3 steps: source +1, destination +13
    let a2 = position - rest1 * 13u; // 13 steps: source -3, destination +1
    let read = a0 * 39u + a1 + 36u - a2 * 3u;
    let loaded = (source[read / 4u] >> (read % 4u * 8u)) & 0xffu;
    return loaded;
}

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let word = id.x;
    if word >= 69u {
        return;
    }
    destination[word] = unit(word * 4u) | (unit(word * 4u + 1u) << 8u) | (unit(word * 4u + 2u) << 16u)
        | (unit(word * 4u + 3u) << 24u);
}

// result 1 of movements
// sources      source0 is parameter 1, u8[29]
//              source1 is parameter 0, u8[7,13,3]
// destination  result 1, u8[155]
// nest         units of 1 byte: 29 in source 0, 273 in source 1; 155 in the destination
//              a0: 155 steps, destination +1
//              q0: (a0 - 29) / 3
//              q1: (q0) / 6
//              if a0 < 29: source 0 at a0
//              else source 1 at a0 + 3·q0 + 3·q1 - 26
// schedule     gather: what is read differs from case to case; 39 invocations of 4 units of 1 byte
// proof        reads words up to 7 of 8 in source 0, up to 67 of 69 in source 1, writes words up to 38 of
//              39, no loop
@group(0) @binding(0) var<storage, read_write> source0: array<u32>;
@group(0) @binding(1) var<storage, read_write> source1: array<u32>;
@group(0) @binding(2) var<storage, read_write> destination: array<u32>;

// The unit at `position` of the destination; positions and steps count units of 1 byte.
fn unit(position: u32) -> u32 {
    if position >= 155u {
        return 0u; // past the image
    }
    let a0 = position; // 155 steps: destination +1
    if a0 >= 29u {
        let q0 = (a0 - 29u) / 3u;
        let q1 = (q0) / 6u;
        let read = a0 + q0 * 3u + q1 * 3u - 26u;
        let loaded = (source1[read / 4u] >> (read % 4u * 8u)) & 0xffu;
        return loaded;
    }
    let read = a0;
    let loaded = (source0[read / 4u] >> (read % 4u * 8u)) & 0xffu;
    return loaded;
}

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let word = id.x;
    if word >= 39u {
        return;
    }
    destination[word] = unit(word * 4u) | (unit(word * 4u + 1u) << 8u) | (unit(word * 4u + 2u) << 16u)
        | (unit(word * 4u + 3u) << 24u);
}

// result 2 of movements
// source       parameter 0, u8[7,13,3]
// destination  result 2, u8[29,13,7,3]
// nest         units of 1 byte: 273 in the source; 7917 in the destination
//              a0: 29 steps, source +0, destination +273
//              a1: 13 steps, source +3, destination +21
//              a2: 7 steps, source +39, destination +3
//              a3: 3 steps, source +1, destination +1
// schedule     gather: quotients or padding change inside every block; 1980 invocations of 4 units of 1
//              byte
// proof        reads words up to 68 of 69, writes words up to 1979 of 1980, no loop
@group(0) @binding(0) var<storage, read_write> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> destination: array<u32>;

// The unit at `position` of the destination; positions and steps count units of 1 byte.
fn unit(position: u32) -> u32 {
    if position >= 7917u {
        return 0u; // past the image
    }
    let rest1 = position / 3u;
    let rest2 = rest1 / 7u;
    let rest3 = rest2 / 13u;
    let a0 = rest3; // 29 steps: source +0, destination +273
    let a1 = rest2 - rest3 * 13u; // 13 steps: source +3, destination +21
    let a2 = rest1 - rest2 * 7u; // 7 steps: source +39, destination +3
    let a3 = position - rest1 * 3u; // 3 steps: source +1, destination +1
    let read = a1 * 3u + a2 * 39u + a3;
    let loaded = (source[read / 4u] >> (read % 4u * 8u)) & 0xffu;
    return loaded;
}

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let word = id.x;
    if word >= 1980u {
        return;
    }
    destination[word] = unit(word * 4u) | (unit(word * 4u + 1u) << 8u) | (unit(word * 4u + 2u) << 16u)
        | (unit(word * 4u + 3u) << 24u);
}
