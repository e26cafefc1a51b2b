//! Gathers on the host with more rows than are evaluated together: rows of every width, single
//! elements, and indices out of range.

use stridec::{hlo::Module, program::Program};

use super::support::scratch::bytes;

/// Returns the module of `jnp.take(x, ids, axis=0, fill_value=y)`. `layout` is the layout of its
/// result.
fn text(element: &str, index: &str, [rows, width, count]: [usize; 3], layout: &str) -> String {
    format!(
        "HloModule take, entry_computation_layout={{({element}[{rows},{width}]{{1,0}}, {index}[{count}]{{0}}, {element}[])->{element}[{count},{width}]{layout}}}
        both {{
          a = pred[] parameter(0)
          b = pred[] parameter(1)
          ROOT both = pred[] and(a, b)
        }}
        ENTRY main {{
          x = {element}[{rows},{width}] parameter(0)
          ids = {index}[{count}] parameter(1)
          y = {element}[] parameter(2)
          vectors = {index}[{count},1] reshape(ids)
          zero = {index}[] constant(0)
          zeros = {index}[{count},1] broadcast(zero), dimensions={{}}
          last = {index}[] constant({})
          lasts = {index}[{count},1] broadcast(last), dimensions={{}}
          above = pred[{count},1] compare(vectors, zeros), direction=GE
          below = pred[{count},1] compare(vectors, lasts), direction=LE
          inside = pred[{count},1] and(above, below)
          true = pred[] constant(true)
          all = pred[{count}] reduce(inside, true), dimensions={{1}}, to_apply=both
          mask = pred[{count},{width}] broadcast(all), dimensions={{0}}
          taken = {element}[{count},{width}] gather(x, vectors), offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1,{width}}}
          ys = {element}[{count},{width}] broadcast(y), dimensions={{}}
          ROOT result = {element}[{count},{width}] select(mask, taken, ys)
        }}",
        rows - 1
    )
}

#[test]
fn gathers_of_many_rows_on_the_host() {
    let rows = 100;
    for (element, size) in [("u8", 1), ("bf16", 2), ("f32", 4), ("c64", 8), ("c128", 16)] {
        for (index, index_size) in [("s8", 1), ("s16", 2), ("s32", 4)] {
            for (width, count) in [(1, 1), (1, 255), (1, 256), (1, 300_000), (3, 257), (40, 1_000)]
            {
                for by_columns in [false, true] {
                    let layout = if by_columns { "{0,1}" } else { "{1,0}" };
                    let text = text(element, index, [rows, width, count], layout);
                    let program = Program::lower(&Module::parse(&text).unwrap()).unwrap();
                    // The indices are from -14 to 113. If their type has more than a byte, some
                    // also have other high bits.
                    let ids: Vec<i32> = (0..count)
                        .map(|n| {
                            let id = i32::try_from(n * 37 % 128).unwrap() - 14;
                            if n % 11 == 0 && index_size > 1 { id ^ 0x1100 } else { id }
                        })
                        .collect();
                    let indices: Vec<u8> =
                        ids.iter().flat_map(|id| id.to_le_bytes()[..index_size].to_vec()).collect();
                    let table = bytes(rows * width * size, 5);
                    let fill = bytes(size, 77);
                    let element_at = |row: usize, column: usize| {
                        let id = usize::try_from(ids[row]).ok().filter(|&id| id < rows);
                        let at = id.map(|id| (id * width + column) * size);
                        at.map_or(&fill[..], |at| &table[at..at + size])
                    };
                    let mut expected: Vec<u8> = Vec::with_capacity(count * width * size);
                    if by_columns {
                        for column in 0..width {
                            (0..count).for_each(|row| expected.extend(element_at(row, column)));
                        }
                    } else {
                        for row in 0..count {
                            (0..width).for_each(|column| expected.extend(element_at(row, column)));
                        }
                    }
                    let results = program.run_on_host(&[&table, &indices, &fill]).unwrap();
                    assert!(results == [expected], "{element} {index} {width} x {count} {layout}");
                }
            }
        }
    }
}

/// `jnp.take(x, ids, axis=1)` with a constant for indices out of range: all rows share one table of
/// places, which has two cases.
#[test]
fn columns_out_of_range_are_filled_in_every_row() {
    let text = "HloModule m
        ENTRY e {
          x = s32[40,50] parameter(0)
          ids = s32[200] parameter(1)
          vectors = s32[200,1] reshape(ids)
          zero = s32[] constant(0)
          zeros = s32[200] broadcast(zero), dimensions={}
          last = s32[] constant(49)
          lasts = s32[200] broadcast(last), dimensions={}
          low = pred[200] compare(ids, zeros), direction=GE
          high = pred[200] compare(ids, lasts), direction=LE
          inside = pred[200] and(low, high)
          mask = pred[40,200] broadcast(inside), dimensions={1}
          taken = s32[40,200] gather(x, vectors), offset_dims={0}, collapsed_slice_dims={1},
            start_index_map={1}, index_vector_dim=1, slice_sizes={40,1}
          fill = s32[] constant(-7)
          all = s32[40,200] broadcast(fill), dimensions={}
          ROOT r = s32[40,200] select(mask, taken, all)
        }";
    let words = |list: &[i32]| list.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
    let x: Vec<i32> = (0..2000).map(|n| n * 7 + 1).collect();
    let ids: Vec<i32> = (0..200).map(|n| n * 37 % 61 - 5).collect();
    let places = (0..40).flat_map(|row| ids.iter().map(move |&id| (row, id)));
    let expected: Vec<i32> = places
        .map(|(row, id)| match usize::try_from(id) {
            Ok(id @ ..50) => x[row * 50 + id],
            _ => -7,
        })
        .collect();
    assert_eq!(super::results(text, &[&words(&x), &words(&ids)]), [words(&expected)]);
}

/// Indices are computed in their type, and clamped afterwards.
#[test]
fn indices_are_negated_and_signs_are_taken() {
    let signed = [-3, -1, 0, 2];
    let unsigned = [0, 1, 7, -1];
    for (kind, operation, ids, expected) in [
        ("s32", "negate", signed, b"dbaa"),
        ("s32", "abs", signed, b"dbac"),
        ("s32", "sign", signed, b"aaab"),
        ("s32", "not", signed, b"caaa"),
        ("u32", "negate", unsigned, b"addb"),
        ("u32", "abs", unsigned, b"abdd"),
        ("u32", "sign", unsigned, b"abbb"),
        ("u32", "not", unsigned, b"ddda"),
    ] {
        let text = format!(
            "HloModule m
            ENTRY e {{
              x = u8[4] parameter(0)
              ids = {kind}[4] parameter(1)
              computed = {kind}[4] {operation}(ids)
              vectors = {kind}[4,1] reshape(computed)
              ROOT r = u8[4] gather(x, vectors), offset_dims={{}}, collapsed_slice_dims={{0}},
                start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1}}
            }}"
        );
        let ids: Vec<u8> = ids.into_iter().flat_map(i32::to_le_bytes).collect();
        assert_eq!(super::results(&text, &[b"abcd", &ids]), [expected], "{operation} of {kind}");
    }
}
