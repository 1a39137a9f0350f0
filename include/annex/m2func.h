/* SPDX-License-Identifier: MIT */
/*
 * M2func: calls of a near-data processor, which runs kernels on data in its memory, by plain stores
 * (M2NDP sections III-B and III-C, Table II). annex/m2wire.h has the layout.
 *
 *	annex_hdm_open("shm:/dev/shm/range?size=256M", NULL, &hdm);
 *	annex_m2_open("ndp:/run/annex-ndp.sock", NULL, &m2);
 *	annex_m2_map(m2, hdm, NULL, 0, ANNEX_M2_READ | ANNEX_M2_WRITE);
 *	annex_m2_load(m2, hdm, elf, elf_bytes, &kernel);
 *	annex_m2_run(m2, kernel->id, data, bytes, &args, sizeof(args), NULL);
 *
 * docs/examples/m2func.c is a complete program.
 */
#ifndef ANNEX_M2FUNC_H
#define ANNEX_M2FUNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <annex/hdm.h>
#include <annex/m2wire.h>

#ifdef __cplusplus
extern "C" {
#endif

struct annex_m2;

#define ANNEX_M2_READ 1u
#define ANNEX_M2_WRITE 2u

/**
 * struct annex_m2_opts - Options of annex_m2_open(). Zero means the default.
 * @stride: bytes of a cell, a power of two from 32 to 1024 (default 64). A launch takes 32 of them,
 *	the kernel's arguments the rest; arguments that do not fit take another cell of the slot.
 * @slots: number of threads that can call at once, up to 1024 (default 16). Others wait.
 * @timeout_ms: time limit of a call in milliseconds (default 30000).
 * @mem_ns: added latency of a CXL.mem round trip in nanoseconds (default 0), half of it before a
 *	store, half after the answer. 70 is the value of the paper's Figure 4.
 */
struct annex_m2_opts {
	uint32_t stride;
	uint32_t slots;
	uint32_t timeout_ms;
	uint32_t mem_ns;
};

/**
 * annex_m2_scheme_at() - Iterate over the kinds of devices that annex_m2_open() accepts.
 * @i: from 0 up to the first NULL.
 *
 * Return: the kind, or NULL.
 */
const struct annex_scheme *annex_m2_scheme_at(unsigned int i);

/**
 * annex_m2_open() - Connect to a device that another process serves, or to a device of annex.ko.
 * @uri: ndp:/path/to/socket of `annex ndp serve`; or the range and the size of its uncached memory,
 *	pci:0000:0d:00.0?m2func=2M.
 * @opts: the options; NULL means the defaults.
 * @out: the client; release it with annex_m2_close().
 *
 * Any number of threads may use the handle. It cannot be used in a child of fork().
 *
 * Return: 0; -EINVAL (the URI, an option); -EPROTONOSUPPORT (unknown scheme, or a device of another
 * version); -ENOENT, -ECONNREFUSED (no such socket, or no process serves it); -EACCES (no
 * permission); -ENOSPC (too many clients, or the range has no uncached memory); -EPROTO (an invalid
 * answer); -ENODEV (pci: no device answers within timeout_ms); -EMFILE (too many files; pci: this
 * process has its share of the uncached memory, half of it or 31 pieces); as annex_hdm_open() for
 * pci:; -ETIMEDOUT; -ENOMEM.
 */
int annex_m2_open(const char *uri, const struct annex_m2_opts *opts, struct annex_m2 **out);

/**
 * annex_m2_close() - Close a client, with its kernels, instances and mappings.
 * @m2: the client; may be NULL.
 *
 * No other thread may be using the client.
 */
void annex_m2_close(struct annex_m2 *m2);

/**
 * struct annex_m2_info - Properties of the device, and negotiated parameters.
 * @version: version of the protocol.
 * @stride: bytes of a cell.
 * @slots: most calls at once.
 * @asid: the device's number for this client.
 * @units: NDP units.
 * @subcores: sub-cores of a unit.
 * @threads: micro-thread slots of a sub-core.
 * @vlen: bits of a vector register.
 * @piece: bytes of the pool region for a micro-thread.
 * @scratchpad: bytes of a unit's scratchpad.
 * @running: most kernel instances at once.
 * @waiting: most waiting launches.
 * @kernels: most registered kernels.
 * @args: most bytes of arguments of a launch.
 * @coherent: the device is coherent with the host's caches: annex_m2_flush() is not needed.
 */
struct annex_m2_info {
	uint32_t version;
	uint32_t stride;
	uint32_t slots;
	uint32_t asid;
	uint32_t units;
	uint32_t subcores;
	uint32_t threads;
	uint32_t vlen;
	uint32_t piece;
	uint32_t scratchpad;
	uint32_t running;
	uint32_t waiting;
	uint32_t kernels;
	uint32_t args;
	bool coherent;
};

/**
 * annex_m2_get_info() - Read the properties of the device.
 * @m2: the client.
 * @info: the properties.
 */
void annex_m2_get_info(const struct annex_m2 *m2, struct annex_m2_info *info);

/**
 * annex_m2_map() - Map memory of a range for kernels, at its addresses in this process.
 * @m2: the client.
 * @hdm: the range; it must stay open while it is mapped.
 * @addr: first byte, page aligned; NULL: the whole range.
 * @bytes: number of bytes, in whole pages; 0: the whole range.
 * @prot: ANNEX_M2_READ, ANNEX_M2_WRITE.
 *
 * A device in another process must serve the same memory. The client passes it an open file, which
 * proves that this process has access to the memory.
 *
 * Return: 0; -EINVAL (not in the range, or not whole pages); -EEXIST (some of it is mapped);
 * -EACCES, -ENXIO (the device does not serve that memory); -ENOSPC (too many mappings); -ENODEV,
 * -ETIMEDOUT, -ECHILD, -ENOMEM.
 */
int annex_m2_map(struct annex_m2 *m2, struct annex_hdm *hdm, void *addr, uint64_t bytes,
		 unsigned int prot);

/**
 * annex_m2_unmap() - Undo annex_m2_map(). Afterwards no kernel accesses the memory.
 * @m2: the client.
 * @addr: as passed to annex_m2_map().
 * @bytes: as passed to annex_m2_map().
 *
 * Running kernels that access it end with -EFAULT.
 *
 * Return: 0; -ENOENT (no such mapping); -ENODEV, -ETIMEDOUT, -ECHILD.
 */
int annex_m2_unmap(struct annex_m2 *m2, void *addr, uint64_t bytes);

/**
 * struct annex_m2_needs - Resources that a kernel needs.
 * @scratchpad: bytes of the scratchpad, including the arguments.
 * @nx: integer registers that it uses, from 0 on, up to 32.
 * @nf: floating-point registers, likewise.
 * @nv: vector registers, likewise.
 * @args: bytes of arguments, a multiple of 8.
 */
struct annex_m2_needs {
	uint32_t scratchpad;
	uint8_t nx, nf, nv;
	uint8_t args;
};

/**
 * annex_m2_register() - Register a kernel.
 * @m2: the client.
 * @image: struct annex_m2_image and code, in mapped memory. It must stay there while the kernel is
 *	registered.
 * @needs: resources that the kernel needs.
 * @id: set to the number for launches.
 *
 * Return: 0; -EINVAL (the device has fewer resources); -ENOSPC (too many kernels); -EFAULT (not
 * mapped); -ENOEXEC (bad image); or errors of every call: -EBUSY (all slots were busy for
 * timeout_ms), -ETIMEDOUT, -ENODEV, -ECHILD, -EIO (an invalid answer of the device).
 */
int annex_m2_register(struct annex_m2 *m2, const void *image, const struct annex_m2_needs *needs,
		      uint32_t *id);

/**
 * annex_m2_unregister() - Unregister a kernel.
 * @m2: the client.
 * @id: the kernel's number.
 *
 * Return: 0; -ENOENT (no such kernel of this client); -EBUSY (it is running); errors of every call,
 * see annex_m2_register().
 */
int annex_m2_unregister(struct annex_m2 *m2, uint32_t id);

/**
 * struct annex_m2_kernel - A loaded kernel.
 * @id: its number for launches.
 * @args: bytes of arguments.
 * @image: address of its image in the range.
 * @bytes: bytes of its image.
 * @hdm: the range.
 */
struct annex_m2_kernel {
	uint32_t id;
	uint8_t args;
	void *image;
	size_t bytes;
	struct annex_hdm *hdm;
};

/**
 * annex_m2_load() - Load a kernel from an ELF file into a range, and register it.
 * @m2: the client.
 * @hdm: a range that is mapped as a whole, or at least where the image will be.
 * @elf: a static executable for riscv64, with the symbols ndp_body0 and, optionally, ndp_body1 to
 *	ndp_body7, ndp_init and ndp_fini, and the absolute symbols ndp_regs_x, ndp_regs_f,
 *	ndp_regs_v, ndp_scratchpad and ndp_args. docs/m2func.md describes how to write one.
 * @bytes: bytes of the file.
 * @out: the kernel; release it with annex_m2_unload().
 *
 * Return: 0; -ENOEXEC, -EINVAL, -E2BIG (not such an executable, or a damaged one); -ENOSPC (no room
 * in the range); as annex_m2_register().
 */
int annex_m2_load(struct annex_m2 *m2, struct annex_hdm *hdm, const void *elf, size_t bytes,
		  struct annex_m2_kernel **out);

/**
 * annex_m2_unload() - Unregister a kernel, and free its memory.
 * @m2: the client.
 * @kernel: the kernel; NULL is allowed.
 *
 * Return: 0, also for NULL and if the device is gone; -EBUSY (it is running); errors of every call.
 * After an error the kernel is still loaded.
 */
int annex_m2_unload(struct annex_m2 *m2, struct annex_m2_kernel *kernel);

/**
 * struct annex_m2_end - Instruction at which a kernel failed; zeroes if it did not.
 * @pc: the instruction's address.
 * @addr: address that it accessed, or the instruction itself.
 */
struct annex_m2_end {
	uint64_t pc;
	uint64_t addr;
};

/**
 * annex_m2_launch() - Launch a kernel, without waiting for its end.
 * @m2: the client.
 * @id: the kernel's number.
 * @pool: the micro-thread pool region, with one micro-thread for each piece.
 * @bytes: bytes of the pool region.
 * @args: arguments, inline in the call.
 * @nargs: bytes of the arguments, as registered.
 * @instance: set to the instance, for annex_m2_poll() and annex_m2_wait().
 *
 * If the device is not coherent with the host's caches, the lines of the pool region are flushed
 * first. The caller must flush other data.
 *
 * Return: 0; -ENOENT (no such kernel of this client); -EINVAL (size of the arguments, an empty pool
 * region); -EFAULT (the pool region is not mapped); -EBUSY (too many launches wait, or all slots
 * are busy); errors of every call.
 */
int annex_m2_launch(struct annex_m2 *m2, uint32_t id, const void *pool, uint64_t bytes,
		    const void *args, size_t nargs, uint64_t *instance);

/**
 * annex_m2_run() - Launch a kernel, and wait for its end.
 * @m2: the client.
 * @id: the kernel's number.
 * @pool: as for annex_m2_launch().
 * @bytes: as for annex_m2_launch().
 * @args: as for annex_m2_launch().
 * @nargs: as for annex_m2_launch().
 * @end: set to the instruction at which the kernel failed; may be NULL.
 *
 * Takes one vector store and one vector load if registers are as large as a cell (64 bytes with
 * AVX-512) and the arguments fit in the cell (stride - 32 bytes). More arguments take one more
 * store, and registers of 32 bytes twice the number.
 *
 * Return: 0; an error of the kernel: -EFAULT, -ENOEXEC (illegal instruction), -EDOM (ebreak),
 * -ETIME (too many instructions), -ETIMEDOUT; as annex_m2_launch().
 */
int annex_m2_run(struct annex_m2 *m2, uint32_t id, const void *pool, uint64_t bytes,
		 const void *args, size_t nargs, struct annex_m2_end *end);

/**
 * struct annex_m2_job - One of many launches.
 * @id: as for annex_m2_launch().
 * @err: its result: 0, or an error of annex_m2_launch() or annex_m2_run().
 * @pool: as for annex_m2_launch().
 * @bytes: as for annex_m2_launch().
 * @args: as for annex_m2_launch().
 * @nargs: as for annex_m2_launch().
 * @instance: as for annex_m2_launch().
 * @end: as for annex_m2_run().
 */
struct annex_m2_job {
	uint32_t id;
	int err;
	const void *pool;
	uint64_t bytes;
	const void *args;
	size_t nargs;
	uint64_t instance;
	struct annex_m2_end end;
};

/**
 * annex_m2_launch_many() - Launch several kernels, without waiting for their ends.
 * @m2: the client.
 * @jobs: the launches.
 * @n: number of launches.
 *
 * Stores calls to all free slots before it polls for the first answer, and reuses each slot when
 * its answer has arrived. So one thread has up to 64 calls in flight, which the device may take in
 * any order. timeout_ms of the options limits all of them together.
 *
 * Each job is tried and has its own err: -EBUSY if the device has no room or no slot was free in
 * time; -ETIMEDOUT if the call was stored but not answered in time; -ENODEV for all remaining jobs
 * when the device is gone.
 *
 * Return: 0 if all jobs have 0; otherwise the err of the first job with an error.
 */
int annex_m2_launch_many(struct annex_m2 *m2, struct annex_m2_job *jobs, size_t n);

/**
 * annex_m2_run_many() - Launch several kernels, and wait for their ends.
 * @m2: the client.
 * @jobs: the launches.
 * @n: number of launches.
 *
 * As annex_m2_launch_many().
 *
 * Return: as annex_m2_launch_many().
 */
int annex_m2_run_many(struct annex_m2 *m2, struct annex_m2_job *jobs, size_t n);

/**
 * annex_m2_poll() - Check whether an instance has ended.
 * @m2: the client.
 * @instance: from annex_m2_launch().
 * @end: as for annex_m2_run().
 *
 * Return: 0: it has ended without an error; 1: it is running or waiting; its error; -ENOENT (no
 * such instance; the last thousand of a client are known); errors of every call.
 */
int annex_m2_poll(struct annex_m2 *m2, uint64_t instance, struct annex_m2_end *end);

/**
 * annex_m2_wait() - Wait until an instance has ended.
 * @m2: the client.
 * @instance: from annex_m2_launch().
 * @timeout_ms: time limit in milliseconds; 0: poll once.
 * @end: as for annex_m2_run().
 *
 * After the time limit a last poll has 100 ms to be answered. timeout_ms of the options does not
 * apply.
 *
 * Return: as annex_m2_poll(), but -ETIMEDOUT in place of 1, and if the device did not answer in
 * time or all slots were busy.
 */
int annex_m2_wait(struct annex_m2 *m2, uint64_t instance, uint32_t timeout_ms,
		  struct annex_m2_end *end);

/**
 * annex_m2_shootdown() - Invalidate the device's translation of a page.
 * @m2: a privileged client (annex_m2_open_local()).
 * @asid: the client that the page belongs to.
 * @addr: an address in the page.
 *
 * Return: 0; -EPERM (the client is not privileged); -ENOENT (no such client); errors of every call.
 */
int annex_m2_shootdown(struct annex_m2 *m2, uint32_t asid, const void *addr);

/**
 * annex_m2_flush() - Write the host's cache lines back, and invalidate them.
 * @addr: first byte.
 * @bytes: number of bytes.
 *
 * If the device is not coherent (struct annex_m2_info), call this before a launch for memory that
 * the kernel reads or writes. The cost is per line, dirty or not.
 *
 * Return: 0; -EOPNOTSUPP (this processor has no such instruction for user space).
 */
int annex_m2_flush(const void *addr, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
