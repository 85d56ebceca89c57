"""Where a benchmark's arrays are: NumPy's on the processor, or PyTorch's on the first GPU."""
import bare


class Processor:
    name, stream = "processor", None

    def __init__(self):
        import numpy
        self.fft, self.xp = numpy.fft, numpy

    def context(self):
        return bare.Context()

    def put(self, array):
        return array

    get = put

    def zeros(self, shape, dtype):
        return self.xp.zeros(shape, dtype)

    def settle(self):
        """Everything is done when a call returns."""

    def used(self):
        """Bytes of memory in use."""
        with open("/proc/self/statm") as now:
            return int(now.read().split()[1]) * 4096


class Gpu:
    def __init__(self):
        import torch
        self.xp, self.fft = torch, torch.fft
        self.name = torch.cuda.get_device_name(0)
        self.stream = torch.cuda.current_stream().cuda_stream

    def context(self):
        return bare.Context(gpu=True)

    def put(self, array):
        return self.xp.from_numpy(array).cuda()

    def get(self, array):
        return array.cpu().numpy()

    def zeros(self, shape, dtype):
        return self.xp.zeros(shape, dtype=getattr(self.xp, dtype), device="cuda")

    def settle(self):
        self.xp.cuda.synchronize()

    def used(self):
        free, all_of_it = self.xp.cuda.mem_get_info()
        return all_of_it - free


def l2_error(seen, truth):
    """Of arrays of the same kind."""
    return float((abs(seen - truth)**2).sum() / (abs(truth)**2).sum())**0.5
