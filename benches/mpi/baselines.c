// f32[8192,8192] from rows to columns by plain MPI: what `benches/mpi/main.rs` is compared with.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 8192, RUNS = 7, MOST_RANKS = 64 };

static int rank, ranks, side; // side: the rows, and the columns, of a rank
static float *source, *destination, *packed, *received;
static int counts[MOST_RANKS], starts[MOST_RANKS], byte_starts[MOST_RANKS], ones[MOST_RANKS], box_starts[MOST_RANKS];
static MPI_Datatype rows_type, column_type, of_rows[MOST_RANKS], of_columns[MOST_RANKS], dense[MOST_RANKS];

// The columns of each rank, one box after the other.
static void pack(void) {
    for (int to = 0; to < ranks; to++)
        for (int row = 0; row < side; row++)
            memcpy(packed + ((size_t)to * side + row) * side, source + (size_t)row * N + to * side, side * 4);
}

static void pack_alltoallv(void) {
    pack();
    MPI_Alltoallv(packed, counts, starts, MPI_FLOAT, destination, counts, starts, MPI_FLOAT, MPI_COMM_WORLD);
}

static void alltoallw(void) {
    MPI_Alltoallw(source, ones, byte_starts, of_rows, destination, counts, box_starts, dense, MPI_COMM_WORLD);
}

// Transposed in squares of 32, which stay in the first cache.
static void transpose(float *to, const float *from) {
    for (int y = 0; y < side; y += 32)
        for (int x = 0; x < side; x += 32)
            for (int column = x; column < x + 32; column++)
                for (int row = y; row < y + 32; row++)
                    to[(size_t)column * N + row] = from[(size_t)row * side + column];
}

static void pack_alltoallv_unpack(void) {
    pack();
    MPI_Alltoallv(packed, counts, starts, MPI_FLOAT, received, counts, starts, MPI_FLOAT, MPI_COMM_WORLD);
    for (int from = 0; from < ranks; from++)
        transpose(destination + from * side, received + (size_t)from * side * side);
}

static void alltoallw_columns(void) {
    MPI_Alltoallw(source, ones, byte_starts, of_rows, destination, ones, byte_starts, of_columns, MPI_COMM_WORLD);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const char *name, void (*run)(void), int column_major) {
    double times[RUNS];
    memset(destination, 0, (size_t)side * N * 4);
    run();
    for (int at = 0; at < RUNS; at++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        run();
        double own = MPI_Wtime() - start;
        MPI_Allreduce(&own, &times[at], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    for (int row = 0; row < N; row += 37)
        for (int column = 0; column < side; column += 11) {
            float value = column_major ? destination[(size_t)column * N + row] : destination[(size_t)row * side + column];
            if (value != (float)((size_t)row * N + rank * side + column)) {
                fprintf(stderr, "%s: rank %d has wrong elements\n", name, rank);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
        }
    qsort(times, RUNS, sizeof(double), by_value);
    if (rank == 0)
        printf("%-44s %6.1f ms, median %6.1f\n", name, times[0] * 1e3, times[RUNS / 2] * 1e3);
}

int main(int count, char **arguments) {
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    side = N / ranks;
    size_t bytes = (size_t)side * N * 4;
    float **buffers[] = {&source, &destination, &packed, &received};
    for (int at = 0; at < 4; at++) {
        *buffers[at] = aligned_alloc(4096, bytes);
        memset(*buffers[at], 1, bytes);
    }
    for (int row = 0; row < side; row++)
        for (int column = 0; column < N; column++)
            source[(size_t)row * N + column] = (float)((size_t)(rank * side + row) * N + column);
    MPI_Type_vector(side, side, N, MPI_FLOAT, &rows_type);
    MPI_Type_commit(&rows_type);
    // The rows of a box in a column-major shard: elements at the distance of columns.
    MPI_Datatype row;
    MPI_Type_vector(side, 1, N, MPI_FLOAT, &row);
    MPI_Type_create_hvector(side, 1, 4, row, &column_type);
    MPI_Type_commit(&column_type);
    for (int at = 0; at < ranks; at++) {
        counts[at] = side * side;
        starts[at] = at * side * side;
        byte_starts[at] = at * side * 4;
        box_starts[at] = at * side * side * 4;
        ones[at] = 1;
        of_rows[at] = rows_type;
        of_columns[at] = column_type;
        dense[at] = MPI_FLOAT;
    }
    measure("row-major: pack, Alltoallv", pack_alltoallv, 0);
    measure("row-major: Alltoallw of vectors", alltoallw, 0);
    measure("column-major: pack, Alltoallv, unpack", pack_alltoallv_unpack, 1);
    measure("column-major: Alltoallw of vectors", alltoallw_columns, 1);
    MPI_Finalize();
}
