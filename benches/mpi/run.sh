#!/usr/bin/env bash
# Times reshards on four ranks with Open MPI: stridec, plain C, ScaLAPACK (libscalapack-openmpi-dev)
# and mpi4py (if PYTHON has it) run one after the other. On a busy machine, `LAUNCH='chrt -f 5'`
# gives all of them priority, since ranks wait for each other.
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
