# SPDX-License-Identifier: MIT
"""The figures of a block."""
import collections.abc
import dataclasses

UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
SUFFIX = "_bytes"


def human(count):
    """Bytes, for people."""
    unit = 0
    while count >= 1000 and unit < len(UNITS) - 1:
        count, unit = count / 1024, unit + 1
    return f"{count:.{1 if unit and count < 10 else 0}f} {UNITS[unit]}"


@dataclasses.dataclass(frozen=True)
class Stats(collections.abc.Mapping):
    """Figures of a block, as attributes. Names end in their units: _bytes, or _s for seconds.
    Other numbers are counts. print() shows a summary.

    It is also a mapping, for dict() and JSON. Its keys lack _bytes: stats["in"] is stats.in_bytes.

    @state: of planning: "recording" iterations; "a plan is being made"; "planned": the last
        iteration was under a plan; "strayed": it differed from its plan; "no plan" could be
        made; "without plans" (policy none); "ended".
    @plan_error: why there is no plan: a negative errno. A warning has the words.
    @plans: plans that were made so far.
    @planned: whether the last iteration was under a plan.
    @iterations: iterations so far.
    @iteration_s: seconds of the last one.
    @stall_s: seconds of the last one in which it waited for tensors.
    @until_plan_s: seconds from the first iteration until a plan was in use (0: none was).
    @tensors: tensors in the space now.
    @moved: storages that moved to the space, when the block began or later.
    @stayed: storages that did not when it began, and @stayed_bytes: their bytes.
    @outside_bytes: of tensors outside of the space that the last iteration used.
    @ordinary_bytes: of tensors that the storage had no room for, so far.
    @least_bytes: of tensors that the largest operator uses at once: a smaller device_memory makes
        it run by page faults.
    @device_bytes: in device memory now, and @kept_bytes: of these, of freed tensors.
    @host_bytes: in host memory now.
    @cxl_bytes: in CXL memory now.
    @stored_bytes: on storage now.
    @in_bytes: arrived in device memory so far.
    @out_bytes: left device memory so far, and @clean_bytes: of these, without being written,
        because they had not changed.
    @below_bytes: moved between lower tiers so far.
    @bounced_bytes: copied through a buffer, because the device cannot reach the memory.
    @reclaimed_bytes: left to make room for others.
    @over_bytes: beyond device memory, at most.
    @faults: page faults on absent bytes.
    @write_faults: page faults that wrote to clean bytes.
    """

    state: str = "ended"
    plan_error: int = 0
    plans: int = 0
    planned: bool = False
    iterations: int = 0
    iteration_s: float = 0.0
    stall_s: float = 0.0
    until_plan_s: float = 0.0
    tensors: int = 0
    moved: int = 0
    stayed: int = 0
    stayed_bytes: int = 0
    outside_bytes: int = 0
    ordinary_bytes: int = 0
    least_bytes: int = 0
    device_bytes: int = 0
    kept_bytes: int = 0
    host_bytes: int = 0
    cxl_bytes: int = 0
    stored_bytes: int = 0
    in_bytes: int = 0
    out_bytes: int = 0
    clean_bytes: int = 0
    below_bytes: int = 0
    bounced_bytes: int = 0
    reclaimed_bytes: int = 0
    over_bytes: int = 0
    faults: int = 0
    write_faults: int = 0

    def __getitem__(self, key):
        for name in (key, f"{key}{SUFFIX}"):
            if name in self.__dataclass_fields__:
                return getattr(self, name)
        raise KeyError(key)

    def __iter__(self):
        for name in self.__dataclass_fields__:
            short = name.removesuffix(SUFFIX)
            yield name if short in self.__dataclass_fields__ else short

    def __len__(self):
        return len(self.__dataclass_fields__)

    def __repr__(self):
        lower = "".join(f", {human(self[key])} {words}" for key, words in (
            ("host", "in host memory"), ("cxl", "in CXL memory")) if self[key])
        lines = [f"{self.state}: {self.iterations} iterations, the last took "
                 f"{self.iteration_s:.3g} s, of which it waited {self.stall_s:.3g} s for tensors",
                 f"{self.tensors} tensors: {human(self.device_bytes)} in device memory{lower}, "
                 f"{human(self.stored_bytes)} on storage",
                 f"moved so far: {human(self.in_bytes)} in, {human(self.out_bytes)} out "
                 f"({human(self.clean_bytes)} of these unchanged), {self.faults} page faults",
                 f"the largest operator uses {human(self.least_bytes)}"]
        lines += [f"{words}: {human(self[key])}" for key, words in (
            ("outside", "tensors used outside of the space"),
            ("ordinary", "tensors without room on storage"),
            ("over", "beyond device memory")) if self[key]]
        return "\n".join(lines)
