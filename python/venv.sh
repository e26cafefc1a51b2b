# Virtual environments for the scripts in this folder, which read this file with `source`.

# Makes a virtual environment with the packages of some requirements files:
# `virtual_environment FOLDER [FILE…]`. `PYTHON` names the interpreter, 3.10 or later.
virtual_environment() {
    local python=${PYTHON:-python3} here
    here=$(dirname "${BASH_SOURCE[0]}")
    if ! "$python" -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
        "$here/../.ci/install" python3 python3-venv
        python=/usr/bin/python3
    fi
    "$python" -m venv "$1"
    local file
    for file in "${@:2}"; do
        if ! "$1/bin/pip" install --quiet --disable-pip-version-check -r "$here/$file"; then
            echo "$0: pip could not install what $file lists; the network or an index is missing" >&2
            return 1
        fi
    done
}
