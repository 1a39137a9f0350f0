/* SPDX-License-Identifier: MIT */
/*
 * M2func: kernels run by a near-data processor on what lies in its memory, called with plain
 * stores. M2NDP sections III-B and III-C, Table II; annex/m2wire.h has it to the byte.
 *
 *	annex_hdm_open("shm:/dev/shm/range?size=256M", NULL, &hdm);
 *	annex_m2_open("ndp:/run/annex-ndp.sock", NULL, &m2);
 *	annex_m2_map(m2, hdm, NULL, 0, ANNEX_M2_READ | ANNEX_M2_WRITE);
 *	annex_m2_load(m2, hdm, elf, elf_bytes, &kernel);
 *	annex_m2_run(m2, kernel->id, data, bytes, &args, sizeof(args), NULL);
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
 * struct annex_m2_opts - How to be a client. Zero means the default.
 * @stride: bytes of a cell, a power of two from 32 to 1024 (64). A launch takes 32 of them, and the
 *	kernel's arguments the rest; arguments that do not fit take another cell of the slot.
 * @slots: how many threads call at once, up to 1024 (16). Others wait for their turn.
 * @timeout_ms: how long a call may take (30000).
 * @mem_ns: a latency of the paper, to be added (0): a round trip of CXL.mem, half of it before a
 *	store, half after the answer was seen. With 70 that is Figure 4.
 */
struct annex_m2_opts {
	uint32_t stride;
	uint32_t slots;
	uint32_t timeout_ms;
	uint32_t mem_ns;
};

/**
 * annex_m2_scheme_at() - Walk over the kinds of devices that annex_m2_open() takes.
 * @i: from 0 up to the first NULL.
 *
 * Return: the kind, or NULL.
 */
const struct annex_scheme *annex_m2_scheme_at(unsigned int i);

/**
 * annex_m2_open() - Become a client of a device that another process serves, or of one behind
 * annex.ko.
 * @uri: ndp:/path/to/socket, as `annex ndp serve` makes it; or the range, with the uncached memory
 *	that it has: pci:0000:0d:00.0?m2func=2M.
 * @opts: NULL: the defaults.
 * @out: the client, to be given back with annex_m2_close().
 *
 * The handle may be used by any number of threads. It is of no use in a child of fork().
 *
 * Return: 0; -EINVAL (the URI, an option); -EPROTONOSUPPORT (its scheme, or a device of another
 * version); -ENOENT, -ECONNREFUSED (no such socket, nobody serves it); -EACCES (not for this user);
 * -ENOSPC (the device has no room for more clients, the range no uncached memory); -EPROTO (the
 * answer is not a device's); -ENODEV (of pci: no device answers there in timeout_ms); -EMFILE (no
 * more files; of pci: this process has its share of the uncached memory, half of it and 31 pieces);
 * as annex_hdm_open() of pci:; -ETIMEDOUT; -ENOMEM.
 */
int annex_m2_open(const char *uri, const struct annex_m2_opts *opts, struct annex_m2 **out);

/**
 * annex_m2_close() - End a client: its kernels end, and its mappings and kernels are forgotten.
 * @m2: the client; may be NULL.
 *
 * No other thread may be using it.
 */
void annex_m2_close(struct annex_m2 *m2);

/**
 * struct annex_m2_info - Facts about the device, and the terms that client and device agreed on.
 * @version: version of the protocol.
 * @stride: bytes of a cell.
 * @slots: calls at once.
 * @asid: the device's number of this client.
 * @units: NDP units.
 * @subcores: sub-cores of a unit.
 * @threads: micro-thread slots of a sub-core.
 * @vlen: bits of a vector register.
 * @piece: bytes of the pool region for a micro-thread.
 * @scratchpad: bytes that a unit has.
 * @running: kernel instances at once.
 * @waiting: launches that wait for one to end.
 * @kernels: kernels that can be registered.
 * @args: the most bytes of arguments that a launch takes.
 * @coherent: the device sees the host's caches: annex_m2_flush() is not needed.
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
 * annex_m2_get_info() - Read the facts about the device.
 * @m2: the client.
 * @info: the facts.
 */
void annex_m2_get_info(const struct annex_m2 *m2, struct annex_m2_info *info);

/**
 * annex_m2_map() - Let kernels reach memory of a range, at the addresses that it has here.
 * @m2: the client.
 * @hdm: the range; it must stay open while it is mapped.
 * @addr: first byte of whole pages in @hdm; NULL: all of it.
 * @bytes: how many bytes; 0: all of it.
 * @prot: ANNEX_M2_READ, ANNEX_M2_WRITE.
 *
 * A device in another process must serve the same memory; the client shows it an open file, as
 * proof that this process has access to it.
 *
 * Return: 0; -EINVAL (not in the range, no whole pages); -EEXIST (some of it is mapped); -EACCES,
 * -ENXIO (the device does not serve that memory); -ENOSPC (too many mappings); -ENODEV, -ETIMEDOUT,
 * -ECHILD, -ENOMEM.
 */
int annex_m2_map(struct annex_m2 *m2, struct annex_hdm *hdm, void *addr, uint64_t bytes,
		 unsigned int prot);

/**
 * annex_m2_unmap() - Take a mapping back; when it returns, nothing touches that memory.
 * @m2: the client.
 * @addr: as it was mapped.
 * @bytes: as it was mapped.
 *
 * Kernels that still want it end with -EFAULT.
 *
 * Return: 0; -ENOENT (not mapped like that); -ENODEV, -ETIMEDOUT, -ECHILD.
 */
int annex_m2_unmap(struct annex_m2 *m2, void *addr, uint64_t bytes);

/**
 * struct annex_m2_needs - Needs of a kernel.
 * @scratchpad: bytes, its arguments included.
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
 * annex_m2_register() - Make a kernel known.
 * @m2: the client.
 * @image: struct annex_m2_image and code, in memory that is mapped. It stays where it is while the
 *	kernel is registered.
 * @needs: needs of the kernel.
 * @id: number to launch it by.
 *
 * Return: 0; -EINVAL (needs more than there is); -ENOSPC (too many kernels); -EFAULT (not mapped);
 * -ENOEXEC (no image); or as every call: -EBUSY (all slots were taken for timeout_ms), -ETIMEDOUT,
 * -ENODEV, -ECHILD, -EIO (the device does not answer as it should).
 */
int annex_m2_register(struct annex_m2 *m2, const void *image, const struct annex_m2_needs *needs,
		      uint32_t *id);

/**
 * annex_m2_unregister() - Forget a kernel.
 * @m2: the client.
 * @id: the kernel's number.
 *
 * Return: 0; -ENOENT (no such kernel of this client); -EBUSY (it runs); as every call.
 */
int annex_m2_unregister(struct annex_m2 *m2, uint32_t id);

/**
 * struct annex_m2_kernel - A kernel that was loaded.
 * @id: number to launch it by.
 * @args: bytes of arguments.
 * @image: where its image is in the range.
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
 * annex_m2_load() - Put a kernel from an ELF file into a range, and register it.
 * @m2: the client.
 * @hdm: a range, of which enough for the image must be mapped: best all of it.
 * @elf: a static executable for riscv64, with the symbols ndp_body0 (and ndp_body1 up to ndp_body7,
 *	ndp_init, ndp_fini if there are such), and, absolute, ndp_regs_x, ndp_regs_f, ndp_regs_v,
 *	ndp_scratchpad and ndp_args; docs/m2func.md says how to write one.
 * @bytes: bytes of the file.
 * @out: the kernel, to be given back with annex_m2_unload().
 *
 * Return: 0; -ENOEXEC, -EINVAL, -E2BIG (no such file, or one that is broken); -ENOSPC (no room in
 * the range); as annex_m2_register().
 */
int annex_m2_load(struct annex_m2 *m2, struct annex_hdm *hdm, const void *elf, size_t bytes,
		  struct annex_m2_kernel **out);

/**
 * annex_m2_unload() - Unregister a kernel, and give its memory back.
 * @m2: the client.
 * @kernel: the kernel; NULL is allowed.
 *
 * Return: 0, also for NULL and when the device is gone; -EBUSY: it runs, and is not unloaded; as
 * every call, when it is not unloaded either.
 */
int annex_m2_unload(struct annex_m2 *m2, struct annex_m2_kernel *kernel);

/**
 * struct annex_m2_end - Where a kernel ended in an error; else zeroes.
 * @pc: the instruction's address.
 * @addr: address that it wanted to reach, or the instruction itself.
 */
struct annex_m2_end {
	uint64_t pc;
	uint64_t addr;
};

/**
 * annex_m2_launch() - Have a kernel run, and do not wait for it.
 * @m2: the client.
 * @id: the kernel's number.
 * @pool: the micro-thread pool region: one micro-thread for each piece of it.
 * @bytes: its bytes.
 * @args: arguments, inline in the call.
 * @nargs: their bytes: as many as were registered.
 * @instance: for annex_m2_poll() and annex_m2_wait().
 *
 * Where the device does not see the host's caches the lines of the pool region are flushed first;
 * other data is for the caller to flush.
 *
 * Return: 0; -ENOENT (no such kernel of this client); -EINVAL (size of the arguments, an empty pool
 * region); -EFAULT (the pool region is not mapped); -EBUSY (too many launches wait, or all
 * slots are taken); as every call.
 */
int annex_m2_launch(struct annex_m2 *m2, uint32_t id, const void *pool, uint64_t bytes,
		    const void *args, size_t nargs, uint64_t *instance);

/**
 * annex_m2_run() - Have a kernel run, and wait for its end.
 * @m2: the client.
 * @id: the kernel's number.
 * @pool: as of annex_m2_launch().
 * @bytes: as of annex_m2_launch().
 * @args: as of annex_m2_launch().
 * @nargs: as of annex_m2_launch().
 * @end: where it ended in an error; may be NULL.
 *
 * One vector store and one vector load, where registers are as large as a cell (64 bytes: AVX-512)
 * and the arguments fit in it (stride - 32 bytes); one store more for more arguments, and twice as
 * many with registers of 32 bytes.
 *
 * Return: 0: it has ended well; -EFAULT, -ENOEXEC (illegal instruction), -EDOM (ebreak), -ETIME
 * (too many instructions), -ETIMEDOUT: it has not, or did not in time; as annex_m2_launch().
 */
int annex_m2_run(struct annex_m2 *m2, uint32_t id, const void *pool, uint64_t bytes,
		 const void *args, size_t nargs, struct annex_m2_end *end);

/**
 * struct annex_m2_job - One of many launches.
 * @id: as of annex_m2_launch().
 * @err: its result: 0, or an error as of annex_m2_launch() or annex_m2_run().
 * @pool: as of annex_m2_launch().
 * @bytes: as of annex_m2_launch().
 * @args: as of annex_m2_launch().
 * @nargs: as of annex_m2_launch().
 * @instance: as of annex_m2_launch().
 * @end: as of annex_m2_run().
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
 * annex_m2_launch_many() - Launch kernels, and do not wait for them.
 * @m2: the client.
 * @jobs: the launches.
 * @n: how many.
 *
 * Calls are stored to as many slots as are free before the first answer is looked for, and to each
 * slot anew when it has its answer; so one thread has up to 64 calls under way. The device may take
 * them in any order. Registers take one call at a time all the same. The options' timeout_ms is for
 * all of them together.
 *
 * Each job is tried, and has its own err: -EBUSY for jobs that the device has no room for, or that
 * no slot was free for in time; -ETIMEDOUT for jobs that were stored, but not answered in time;
 * -ENODEV for all that are left when the device is gone.
 *
 * Return: 0: all have 0; else the err of the first one that has not.
 */
int annex_m2_launch_many(struct annex_m2 *m2, struct annex_m2_job *jobs, size_t n);

/**
 * annex_m2_run_many() - Launch kernels, and wait for their ends.
 * @m2: the client.
 * @jobs: the launches.
 * @n: how many.
 *
 * As annex_m2_launch_many().
 *
 * Return: as annex_m2_launch_many().
 */
int annex_m2_run_many(struct annex_m2 *m2, struct annex_m2_job *jobs, size_t n);

/**
 * annex_m2_poll() - Whether an instance has ended.
 * @m2: the client.
 * @instance: from annex_m2_launch().
 * @end: where it ended in an error; may be NULL.
 *
 * Return: 0: it has, and well; 1: it runs or waits; its error; -ENOENT (no such instance, or one
 * before the last thousand of this client); as every call.
 */
int annex_m2_poll(struct annex_m2 *m2, uint64_t instance, struct annex_m2_end *end);

/**
 * annex_m2_wait() - Wait until an instance has ended.
 * @m2: the client.
 * @instance: from annex_m2_launch().
 * @timeout_ms: for up to so long; 0: one poll.
 * @end: where it ended in an error; may be NULL.
 *
 * When the time is over, the poll that is under way or made then has 100 ms to be answered; the
 * timeout_ms of the options is of no matter here.
 *
 * Return: as annex_m2_poll(), but -ETIMEDOUT instead of 1, and so when the device did not answer in
 * that time, or all slots were taken.
 */
int annex_m2_wait(struct annex_m2 *m2, uint64_t instance, uint32_t timeout_ms,
		  struct annex_m2_end *end);

/**
 * annex_m2_shootdown() - Have the device forget how it translated a page.
 * @m2: the client; a privileged one (annex_m2_open_local()).
 * @asid: the client whose page it is.
 * @addr: an address in the page.
 *
 * Return: 0; -EPERM (not for this client); -ENOENT (no such client); as every call.
 */
int annex_m2_shootdown(struct annex_m2 *m2, uint32_t asid, const void *addr);

/**
 * annex_m2_flush() - Write the host's cache lines back, and drop them.
 * @addr: first byte.
 * @bytes: how many bytes.
 *
 * Before a launch, for memory that the kernel reads or writes, where struct annex_m2_info says that
 * the device is not coherent. It touches every line, dirty or not.
 *
 * Return: 0; -EOPNOTSUPP (this processor cannot, from user space).
 */
int annex_m2_flush(const void *addr, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
