"""Arrays whose C structures a test can damage: DLPack's tensors, and numpy's `__array_struct__`."""

import ctypes

import numpy


class Tensor(ctypes.Structure):
    """`DLTensor`."""

    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    """`DLManagedTensor`."""

    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Versioned(ctypes.Structure):
    """`DLManagedTensorVersioned`."""

    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64), ("tensor", Tensor),
    ]


capsule = ctypes.pythonapi.PyCapsule_New
capsule.restype = ctypes.py_object
capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Producer:
    """Three floats behind DLPack, with the members of the tensor that a test changes."""

    def __init__(self, versioned, flags=0, **changes):
        self.values = numpy.arange(3, dtype=numpy.float32)
        self.extents = (ctypes.c_int64 * 1)(changes.pop("extent", 3))
        self.strides = (ctypes.c_int64 * 1)(1)
        tensor = Tensor(self.values.ctypes.data, 1, 0, 1, 2, 32, 1, ctypes.addressof(self.extents), ctypes.addressof(self.strides), 0)
        for name, value in changes.items():
            setattr(tensor, name, value)
        self.versioned = versioned
        self.managed = Versioned(1, 1, None, None, flags, tensor) if versioned else Managed(tensor, None, None)

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_):
        return capsule(ctypes.addressof(self.managed), b"dltensor_versioned" if self.versioned else b"dltensor", None)


class Interface(ctypes.Structure):
    """`PyArrayInterface`."""

    _fields_ = [
        ("two", ctypes.c_int), ("nd", ctypes.c_int), ("typekind", ctypes.c_char), ("itemsize", ctypes.c_int), ("flags", ctypes.c_int),
        ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("data", ctypes.c_void_p),
    ]
