#!/usr/bin/env bash
# Installs two versions of oneDNN, MKL and IPP from PyPI into a folder, and builds the programs that
# time them: setup.sh FOLDER. It needs g++ and Python, and 4 GB of disk.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"

packages() {
    [[ -x $1/bin/python ]] || python3 -m venv "$1"
    "$1/bin/pip" install --quiet "${@:2}"
}
# The older oneDNN is the last one with GNU's OpenMP, whose calls start in less time.
packages gomp onednn-devel-cpu-gomp==2023.2.0 onednn-cpu-gomp==2023.2.0 mkl mkl-include ipp ipp-include
packages sycl onednn onednn-devel

for folder in gomp sycl; do
    # Tags that this version lacks are left out.
    header=$(find "$folder/include" -name dnnl.hpp -path '*oneapi*' | head -1)
    python3 "$here/layouts.py" --tags "$header" >"$folder/tags.inc"
    g++ -O2 -std=c++17 -fopenmp -I"$folder" -I"$folder/include" "$here/onednn.cpp" -o "onednn-$folder" \
        -L"$folder/lib" -ldnnl -Wl,-rpath,"$PWD/$folder/lib" -Wl,--allow-shlib-undefined
done
library() { find "$PWD/gomp/lib" -name "lib$1.so*" | sort | head -1; }
g++ -O2 -std=c++17 -Igomp/include -Igomp/include/ipp "$here/images.cpp" -o images \
    "$(library mkl_rt)" "$(library ippi)" "$(library ipps)" "$(library ippcore)" -Wl,-rpath,"$PWD/gomp/lib"
# IPP looks for names with the minor version, which the package does not have.
for library in gomp/lib/libipp*.so.12; do ln -sf "$(basename "$library")" "$library.1"; done
