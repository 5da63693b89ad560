"""Writes the pickled batches of this folder: with Python 2 as CIFAR-10 was published, with Python 3 as re-pickled;
there also seeds for the fuzz test.

Run it with both: `python2 make.py` and `python3 make.py` (which needs NumPy). Three images of plain planes.
"""
import gzip
import sys

SEEDS = '../PickleReaderFuzzTestInputs/shouldReadOrRefuseWhenAnyBytesAreGiven/'
PLANES = [(0, 128, 255), (10, 138, 254), (20, 148, 253)]
PIXELS = bytearray()
for planes in PLANES:
    for value in planes:
        PIXELS += bytearray([value]) * 1024


def write(name, pickled):
    with open(name, 'wb') as out:
        packed = gzip.GzipFile('', 'wb', 9, out, 0)
        packed.write(pickled)
        packed.close()


def batch(data, bytes_keys=False):
    entries = [('batch_label', 'training batch 1 of 5'), ('labels', [3, 8, 0]), ('data', data),
               ('filenames', ['a_s_000001.png', 'b_s_000002.png', 'c_s_000003.png'])]
    return dict((key.encode() if bytes_keys else key, value) for key, value in entries)


def published():
    """The instructions that Python 2's cPickle writes for a NumPy array, without NumPy."""
    import cPickle
    import types

    def reconstruct(*_):
        pass

    class DataType(object):
        def __reduce__(self):
            return DataType, ('u1', 0, 1), (3, '|', None, None, None, -1, -1, 0)

    class Array(object):
        def __reduce__(self):
            state = (1, (len(PLANES), 3072), DataType(), False, bytes(PIXELS))
            return reconstruct, (Array, (0,), 'b'), state

    for known, name, module in ((reconstruct, '_reconstruct', 'numpy.core.multiarray'),
                                (Array, 'ndarray', 'numpy'), (DataType, 'dtype', 'numpy')):
        known.__name__, known.__module__ = name, module
        setattr(sys.modules.setdefault(module, types.ModuleType(module)), name, known)
    sys.modules.setdefault('numpy.core', types.ModuleType('numpy.core'))
    write('python2-protocol2.gz', cPickle.dumps(batch(Array()), 2))


def again():
    import numpy
    import pickle
    data = numpy.frombuffer(bytes(PIXELS), numpy.uint8).reshape(-1, 3072)
    for protocol in (2, 3, 4):
        write('python3-protocol%d.gz' % protocol, pickle.dumps(batch(data), protocol))
        with open(SEEDS + 'python3-protocol%d' % protocol, 'wb') as seed:
            seed.write(pickle.dumps({'data': data[:2, :3].copy(), 'labels': [3, 8]}, protocol))
    write('python3-bytes-keys.gz', pickle.dumps(batch(data, bytes_keys=True), 2))
    write('cifar100.gz', pickle.dumps({'data': data, 'fine_labels': [1, 2, 3]}, 2))


published() if sys.version_info[0] == 2 else again()
