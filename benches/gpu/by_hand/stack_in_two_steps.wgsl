// case: program u8 stack of channels
// workgroups: 127 1 1
// 16 pixels from 16 bytes of each source, put together in two steps: bytes whose place in a word is even or odd, then the halves of words. The
// kernel of stridec puts each word together from single bytes.
@group(0) @binding(0) var<storage, read> source0: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> source1: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> source2: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> destination: array<vec4<u32>>;
@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let run = id.x;
    if run >= 32400u {
        return;
    }
    let first_block = run / 8u * 128u + run % 8u;
    for (var block = first_block; block < first_block + 128u; block += 8u) {
        let r = source0[block];
        let g = source1[block];
        let b = source2[block];
        let even = vec4<u32>(0x00ff00ffu);
        let odd = vec4<u32>(0xff00ff00u);
        let eight = vec4<u32>(8u);
        let sixteen = vec4<u32>(16u);
        // Bytes r0 g0 r2 g2, b0 r1 b2 r3 and g1 b1 g3 b3.
        let rg = (r & even) | ((g & even) << eight);
        let br = (b & even) | (r & odd);
        let gb = ((g >> eight) & even) | (b & odd);
        let low = vec4<u32>(0xffffu);
        let high = vec4<u32>(0xffff0000u);
        let w0 = (rg & low) | (br << sixteen);
        let w1 = (gb & low) | (rg & high);
        let w2 = (br >> sixteen) | (gb & high);
        destination[block * 3u] = vec4<u32>(w0.x, w1.x, w2.x, w0.y);
        destination[block * 3u + 1u] = vec4<u32>(w1.y, w2.y, w0.z, w1.z);
        destination[block * 3u + 2u] = vec4<u32>(w2.z, w0.w, w1.w, w2.w);
    }
}
