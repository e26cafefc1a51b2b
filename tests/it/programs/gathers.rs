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
