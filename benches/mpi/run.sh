#!/usr/bin/env bash
# Four ranks, Open MPI: stridec beside plain C, ScaLAPACK (libscalapack-openmpi-dev) and mpi4py (where PYTHON has it), one after the other.
# `LAUNCH='chrt -f 5'` runs all of it before other programs, which ranks that wait for each other need on a busy machine.
set -euo pipefail
cd "$(dirname "$0")/../.."
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mpicc.openmpi -O3 -march=native benches/mpi/baselines.c -o "$folder/baselines"
bench=$(cargo bench --locked --no-default-features --features mpi --bench mpi --no-run --message-format json |
    sed -n 's/.*"executable":"\([^"]*\)".*/\1/p')

ranks() {
    # shellcheck disable=SC2086 # words of their own
    ${LAUNCH:-} mpirun.openmpi --oversubscribe -n 4 "$@"
}

grep -m1 'model name' /proc/cpuinfo
for _ in 1 2 3; do
    ranks "$folder/baselines"
    ranks "$bench" --bench
done
if mpicc.openmpi -O3 benches/mpi/scalapack.c -lscalapack-openmpi -o "$folder/scalapack" 2>/dev/null; then
    ranks "$folder/scalapack"
    ranks "$folder/scalapack" 32 128
    ranks "$folder/scalapack" 36 128
else
    echo "ScaLAPACK is missing"
fi
if "${PYTHON:-python3}" -c 'import mpi4py, numpy' 2>/dev/null; then
    ranks "${PYTHON:-python3}" benches/mpi/mpi4py_alltoallv.py
else
    echo "mpi4py is missing"
fi
