// f64[8192,8192], column-major, from a grid of 2 by 2 to one of 4 by 1 by ScaLAPACK's pdgemr2d. With arguments, blocks of other sizes
// than whole shards, dealt out cyclically: `scalapack 32 128` and `scalapack 36 128`.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 8192, RUNS = 7 };

void Cblacs_get(int context, int what, int *value);
void Cblacs_gridinit(int *context, const char *order, int rows, int columns);
void Cblacs_gridinfo(int context, int *rows, int *columns, int *row, int *column);
int numroc_(const int *n, const int *block, const int *at, const int *from, const int *count);
void descinit_(int *out, const int *m, const int *n, const int *mb, const int *nb, const int *row, const int *column,
               const int *context, const int *lead, int *info);
void pdgemr2d_(const int *m, const int *n, const double *a, const int *ia, const int *ja, const int *desc_a, double *b,
               const int *ib, const int *jb, const int *desc_b, const int *context);

static const int size = N, zero = 0, one = 1;

// A matrix in blocks on a grid, zeroed.
static double *matrix(int rows, int columns, int row_block, int column_block, int *context, int *description) {
    int row, column, info;
    Cblacs_get(-1, 0, context);
    Cblacs_gridinit(context, "R", rows, columns);
    Cblacs_gridinfo(*context, &rows, &columns, &row, &column);
    int height = numroc_(&size, &row_block, &row, &zero, &rows), width = numroc_(&size, &column_block, &column, &zero, &columns);
    descinit_(description, &size, &size, &row_block, &column_block, &zero, &zero, context, &height, &info);
    return calloc((size_t)height * width, sizeof(double));
}

int main(int count, char **arguments) {
    MPI_Init(&count, &arguments);
    int rank, from_context, to_context, from_description[9], to_description[9];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int blocks = count == 3, from_block = blocks ? atoi(arguments[1]) : 0, to_block = blocks ? atoi(arguments[2]) : 0;
    double *from = blocks ? matrix(2, 2, from_block, from_block, &from_context, from_description)
                          : matrix(2, 2, N / 2, N / 2, &from_context, from_description);
    double *to = blocks ? matrix(2, 2, to_block, to_block, &to_context, to_description)
                        : matrix(4, 1, N / 4, N, &to_context, to_description);
    double best = 1e9;
    for (int run = 0; run <= RUNS; run++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime(), own, all;
        pdgemr2d_(&size, &size, from, &one, &one, from_description, to, &one, &one, to_description, &from_context);
        own = MPI_Wtime() - start;
        MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        // The first makes connections and touches pages.
        if (run > 0 && all < best)
            best = all;
    }
    char name[64] = "squares to rows, f64: pdgemr2d";
    if (blocks)
        snprintf(name, sizeof name, "%d² to %d² blocks, f64: pdgemr2d", from_block, to_block);
    if (rank == 0)
        printf("%-44s %6.1f ms\n", name, best * 1e3);
    MPI_Finalize();
}
