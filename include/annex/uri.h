/* SPDX-License-Identifier: MIT */
/*
 * URIs of devices and memory ranges: SCHEME:BODY[?KEY=VALUE[&KEY=VALUE]...]
 *
 * In the body and in values, %XX stands for a byte, so that a path may contain '?', '&' and '%'. A
 * URI has at most 4095 bytes and 32 parameters. Unknown parameters are rejected, and so are
 * repeated ones, except ns, fault and poison. Sizes take the suffixes K, M, G and T (powers of
 * 1024).
 *
 * A device (annex/device.h) is an NVMe controller with its namespaces:
 *
 *	mem:SIZE	A controller emulated in the process, with memory behind it. A page is
 *			allocated on its first write.
 *	file:PATH	The proxy: an emulated controller in front of a file or a block device,
 *			through io_uring. It needs neither root nor a kernel module. If the file
 *			ends inside a block, the rest of that block reads as zeroes. Writes keep the
 *			size of the file: zeroes behind its end are dropped, and a write of other
 *			bytes there fails with ANNEX_SC_LBA_RANGE (-ERANGE), and a warning is
 *			logged. annex_dev_bytes() has the size. A file that this user can only read
 *			needs readonly=1.
 *	ng:PATH		A namespace that stays with the kernel's NVMe driver, by its generic device
 *			(/dev/ng0n1). File systems on it stay mounted. Commands are passed by
 *			io_uring and bypass the block layer. Blocks have 512 to 16384 bytes, and
 *			no metadata but protection information of 8 bytes, which the drive inserts
 *			and strips. Linux 6.1; before 6.2 only root may send commands.
 *	nvme:PATH	The same for all namespaces of a controller, by its device (/dev/nvme0) or
 *			its PCI address, in the order of their identifiers.
 *	unix:PATH	A part of a device that another process serves (annex serve), by the path of
 *			its socket. Data in memory of annex_dev_provider() is not copied; other data
 *			is. Commands end with -EAGAIN while no process serves.
 *	pci:ADDRESS	A controller that is bound to annex.ko (annex bind), as 0000:00:04.0. The
 *			domain 0000: may be left out.
 *
 *	size=SIZE	file: create the file with this size, or extend it sparsely. If the open
 *			fails, the old size is restored, and a new file is removed.
 *	block=N		mem:, file: bytes of a logical block, 512, 1024, ... or 16384.
 *	namespaces=N	mem: number of namespaces, of SIZE each.
 *	direct=0|1	file: bypass the page cache (O_DIRECT). The default is 1 if the file system
 *			and the blocks allow it, and if the size of the file is a multiple of the
 *			file system's alignment or readonly=1. direct=1 fails otherwise
 *			(-EOPNOTSUPP, -EINVAL).
 *	ns=PATH2	file:, ng: one more namespace, on another file of fixed size or another
 *			drive. May be repeated.
 *	readonly=0|1	file:, ng:, nvme:, unix: writes end with ANNEX_SC_READ_ONLY (-EROFS). While
 *			the device is open, all of its blocks are claimed as by
 *			annex_dev_claim_shared(): other readers may open it, writers that claim
 *			blocks may not. On a file system without locks no writer is excluded, and a
 *			warning is logged.
 *	force=0|1	file:, ng:, nvme: 1: allow writes even if a file system, swap or another
 *			block device uses the namespace or one of its partitions. 0 (default): such
 *			writes end with ANNEX_SC_READ_ONLY (-EROFS), and a warning is logged. The
 *			check runs when file: is opened, and once a second for ng: and nvme:. It
 *			does not cover mounts in other mount namespaces.
 *	poll=0|1	ng:, nvme: 1: poll for completions instead of taking interrupts. Requires
 *			Linux 6.12 and poll queues (modprobe nvme poll_queues=2), otherwise
 *			-EOPNOTSUPP.
 *	part=NAME	unix: name of the part. Required.
 *	sq=PLACE	pci: location of submission queues: host (contiguous host memory, the
 *			default), cmb (the controller memory buffer), provider (the program's
 *			memory), or any.
 *	cq=PLACE	pci: location of completion queues, likewise.
 *	wait=poll|sleep	pci: waiting threads poll (default), or sleep until an interrupt.
 *	serve=THREAD	all but pci: the thread that runs the emulated controller.
 *			caller (default): the threads that submit and wait.
 *			thread (default for drives by NVMe over TCP): a thread of its own, which
 *			sleeps when the queues are empty. Calls of the library wake it; after a
 *			doorbell store without such a call it may sleep for up to a second.
 *			busy: a thread of its own that never sleeps, for doorbells that a GPU
 *			stores to.
 *			alone: the only thread of the program that submits and waits, see struct
 *			annex_dev_opts.
 *	fault=SPEC	all but pci: inject a fault, see annex_fault_parse(). May be repeated.
 *
 * This library can neither abort commands on drives of the kernel (ng:, nvme:) nor reset them. The
 * kernel does so when a command has taken half of the device's timeout, at least a second. Commands
 * that end because the kernel resets the drive are sent again. After a drive was unplugged,
 * commands end with -ENODEV.
 *
 * The limit on locked memory (ulimit -l) covers all processes of a user. The io_uring of a file:
 * device takes 1/32 of it (at least 16 KiB), and registered memory of a process a quarter; commands
 * on unregistered memory take a little longer. If there is no room for the io_uring, threads do the
 * I/O of the device, and a warning is logged.
 *
 * A memory range (annex/hdm.h) is mapped memory that is allocated in pieces:
 *
 *	shm:PATH	A shared file, which may also be the memory of an emulated CXL device. It is
 *			persistent if the file is on a DAX file system, otherwise volatile.
 *	dax:PATH	A devdax region, as the drivers of CXL and of persistent memory make them
 *			(/dev/dax0.0). It is persistent if it is on an NVDIMM bus.
 *	numa:NODE	Memory of a NUMA node, for CXL memory that the kernel uses as its own
 *			memory. No other process can open it.
 *	cxlssd:PATH	A modelled CXL-SSD in a file; without PATH in memory of the process. Its
 *			keys are in annex/models/cxlssd.h.
 *	pci:A[,A]...	A CXL device that is bound to annex.ko, or 2, 4 or 8 of them, interleaved.
 *			The first open makes the range, later ones with the same devices join it,
 *			and the last close frees the decoders. Persistent memory keeps its contents;
 *			volatile memory is not cleared, but its contents count as lost.
 *
 *	size=SIZE	shm: create the file with this size, or extend it if it is empty; any other
 *			file must have this size. numa: required. pci: a multiple of 256M for each
 *			device; the default is all free memory, or the size of the range to join.
 *	persistent=0|1	shm: whether the contents count as persistent, without DAX by msync(2).
 *			pci: which memory of a device that has both kinds; by default the volatile.
 *	format=1	shm:, dax:, pci: write a new table and discard the old contents. Fails while
 *			other handles are open on the range.
 *	poison=OFFSET	shm: treat the page at this offset as poisoned: it is never allocated. May
 *			be repeated.
 *	huge=0|1	numa: use huge pages of 2 MiB, which must be reserved (vm.nr_hugepages).
 *	granularity=N	pci: interleave granularity in bytes, a power of two from 256 to 16K; the
 *			default is the window's.
 *	m2func=SIZE	pci: uncached bytes at the end for function calls by stores, a multiple of
 *			2M, allocated in pieces. To join a range, give the size that it has. A
 *			process gets at most half of these bytes, in at most 31 pieces (-EMFILE).
 *	piece=SIZE	pci: bytes of this process's own, zeroed, of a range that is not shared (see
 *			the parameter shared of annex.ko); the default is all of the range.
 *	window=SIZE	cxlssd: host memory that backs the mapping, at least 1M; the default is the
 *			size of the range.
 *
 * A near-data processor (annex/m2func.h) is ndp:PATH, the socket of annex ndp serve.
 *
 * Examples:
 *
 *	mem:64M?block=4096
 *	file:/data/columns.bin?readonly=1
 *	file:/data/scratch?size=8G
 *	nvme:0000:00:04.0
 *	mem:1M?fault=error,op=read,after=10,status=0x281
 *	shm:/dev/shm/range?size=256M
 *	numa:1?size=1G
 *	cxlssd:/data/cxl?size=1G&media=znand&dram=16M&log=skybyte
 *	pci:0000:0d:00.0,0000:0e:00.0?granularity=4K
 */
#ifndef ANNEX_URI_H
#define ANNEX_URI_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ANNEX_URI_MAX 4096 /* longest URI taken, with its NUL */
#define ANNEX_URI_PARAMS 32

/**
 * struct annex_uri - A parsed URI. Strings point into @text.
 * @scheme: the part before the first colon.
 * @body: the part after it, unescaped.
 * @nparams: number of parameters.
 * @params: key, and unescaped value, of each parameter.
 * @text: storage of the strings.
 */
struct annex_uri {
	const char *scheme;
	const char *body;
	unsigned int nparams;
	struct {
		const char *key;
		const char *value;
	} params[ANNEX_URI_PARAMS];
	char text[ANNEX_URI_MAX];
};

/**
 * enum annex_trait - Properties of a device or a range that follow from its URI:
 * annex_dev_traits(), annex_hdm_traits().
 * @ANNEX_TRAIT_PATH: the body is the path of a file.
 * @ANNEX_TRAIT_PCI: the body is PCI addresses.
 * @ANNEX_TRAIT_SERVED: this process serves its queues.
 * @ANNEX_TRAIT_VOLATILE: its data is lost when the handle is closed.
 * @ANNEX_TRAIT_SHARED: the kernel's driver keeps the device, which may have other users. The
 *	library can neither abort commands nor reset the controller: late commands end by the
 *	kernel's timeout.
 */
enum annex_trait {
	ANNEX_TRAIT_PATH = 1,
	ANNEX_TRAIT_PCI = 2,
	ANNEX_TRAIT_SERVED = 4,
	ANNEX_TRAIT_VOLATILE = 8,
	ANNEX_TRAIT_SHARED = 16,
};

/**
 * struct annex_scheme - A kind of device or range, by the scheme of its URIs.
 * @name: the scheme, without its colon.
 * @summary: one line for people.
 * @traits: bits of enum annex_trait.
 */
struct annex_scheme {
	const char *name;
	const char *summary;
	unsigned int traits;
};

/**
 * annex_uri_parse() - Parse a URI.
 * @uri: the URI.
 * @out: its parts.
 *
 * Return: 0; -EINVAL (no scheme, empty key, key without value, bad escape, a NUL by escape);
 * -E2BIG (too long, too many parameters).
 */
int annex_uri_parse(const char *uri, struct annex_uri *out);

/**
 * annex_uri_get() - Value of the first parameter of a key.
 * @uri: the URI.
 * @key: the key.
 *
 * Return: the value, or NULL.
 */
const char *annex_uri_get(const struct annex_uri *uri, const char *key);

/**
 * annex_uri_check_keys() - Reject unknown and repeated parameters.
 * @uri: the URI.
 * @keys: allowed keys, terminated by NULL; a key followed by three dots ("fault...") may be
 *	repeated.
 *
 * Return: 0 or -EINVAL, with the key named in annex_last_error().
 */
int annex_uri_check_keys(const struct annex_uri *uri, const char *const *keys);

/**
 * annex_uri_u64() - A parameter as a number (annex_parse_size()).
 * @uri: the URI.
 * @key: the key.
 * @min: the smallest allowed value.
 * @max: the largest allowed value.
 * @value: the number; unchanged if the parameter is absent.
 *
 * Return: 0; -EINVAL or -ERANGE, with the parameter named in annex_last_error().
 */
int annex_uri_u64(const struct annex_uri *uri, const char *key, uint64_t min, uint64_t max,
		  uint64_t *value);

/**
 * annex_uri_bool() - A parameter as 0 or 1.
 * @uri: the URI.
 * @key: the key.
 * @value: the value; unchanged if the parameter is absent.
 *
 * Return: as annex_uri_u64().
 */
int annex_uri_bool(const struct annex_uri *uri, const char *key, bool *value);

/**
 * annex_parse_size() - A decimal number with an optional suffix K, M, G or T (powers of 1024).
 * @text: the number.
 * @value: its value.
 *
 * Return: 0, -EINVAL (not such a number) or -ERANGE (does not fit).
 */
int annex_parse_size(const char *text, uint64_t *value);

#ifdef __cplusplus
}
#endif
#endif
