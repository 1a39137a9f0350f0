/* SPDX-License-Identifier: MIT */
/*
 * URIs of devices and memory ranges: SCHEME:BODY[?KEY=VALUE[&KEY=VALUE]...]
 *
 * In the body and in values, %XX stands for a byte, so that a path may hold '?', '&' and '%'. A URI
 * has at most 4095 bytes and 32 parameters. Unknown parameters are refused, and so are repeated
 * ones, except ns, fault and poison. Sizes take the suffixes K, M, G and T (powers of 1024).
 *
 * A device (annex/device.h) is an NVMe controller with its namespaces:
 *
 *	mem:SIZE	A controller emulated in the process, with memory behind it. A page comes
 *			with its first write.
 *	file:PATH	The proxy: a file or a block device behind the queues, through io_uring.
 *			It needs no root and no kernel module.
 *	ng:PATH		A namespace that stays with the kernel's NVMe driver, by its generic device
 *			(/dev/ng0n1). File systems on it stay mounted. Commands pass by io_uring,
 *			not through the block layer. Blocks have 512 or 4096 bytes and no metadata.
 *			Linux 6.1; before 6.2 only root may send commands.
 *	nvme:PATH	The same for all namespaces of a controller, by its device (/dev/nvme0) or
 *			its PCI address, in the order of their identifiers.
 *	unix:PATH	A part of a device that another process serves (annex serve), by the path of
 *			its socket. Data in memory of annex_dev_provider() stays where it is; other
 *			data is copied. Commands end with -EAGAIN while no process serves.
 *	pci:ADDRESS	A controller that is bound to annex.ko (annex bind), as 0000:00:04.0. The
 *			domain 0000: may be left out.
 *
 *	size=SIZE	file: make the file, or grow it sparsely, to this size. If the open fails,
 *			the file is as it was, or removed again.
 *	block=N		mem:, file: bytes of a logical block, 512 or 4096.
 *	namespaces=N	mem: number of namespaces, of SIZE each.
 *	direct=0|1	file: go around the page cache (O_DIRECT). By default this is done where the
 *			file system and the blocks allow it. direct=1 fails elsewhere (-EOPNOTSUPP,
 *			-EINVAL).
 *	ns=PATH2	file:, ng: one namespace more, on another file of fixed size or another
 *			drive. May be repeated.
 *	readonly=0|1	file:, ng:, nvme:, unix: writes end with ANNEX_SC_READ_ONLY (-EROFS). While
 *			the device is open, all of it is claimed as by annex_dev_claim_shared():
 *			writers that claim blocks are kept out, readers share. A file system without
 *			locks keeps nobody out, and a warning says so.
 *	force=0|1	file:, ng:, nvme: let writes pass although a file system, swap or another
 *			device of the kernel's uses the namespace or a partition of it. Otherwise
 *			writes end with ANNEX_SC_READ_ONLY (-EROFS) and a warning. The kernel is
 *			asked when file: is opened, and once a second by ng: and nvme:. Mounts of
 *			other mount namespaces are not seen.
 *	poll=0|1	ng:, nvme: look for completions instead of taking interrupts. It needs Linux
 *			6.12 and queues for it (modprobe nvme poll_queues=2), or is -EOPNOTSUPP.
 *	part=NAME	unix: the part. Required.
 *	sq=PLACE	pci: place of submission queues: host (contiguous host memory, the default),
 *			cmb (the controller memory buffer), provider (the program's memory), or any.
 *	cq=PLACE	pci: place of completion queues, likewise.
 *	wait=poll|sleep	pci: waiting threads look again and again (default), or sleep for an
 *			interrupt.
 *	serve=WHO	all but pci: the thread that runs the controller. caller: the threads that
 *			use it (default). thread: one of its own, which sleeps when nothing is
 *			queued; calls of the library wake it, and it sees a bare doorbell store
 *			within a second (default for drives by NVMe over TCP). busy: one of its own
 *			that never sleeps, for doorbells that a GPU stores to. alone: one thread of
 *			the program submits and waits, see struct annex_dev_opts.
 *	fault=SPEC	all but pci: the controller makes a mistake, see annex_fault_parse(). May be
 *			repeated.
 *
 * Drives of the kernel (ng:, nvme:) cannot abort commands or be reset from here. The kernel does
 * that when a command has taken half of the device's timeout, at least a second. Commands that it
 * ends while it resets the drive are sent again. A drive that is pulled is gone (-ENODEV).
 *
 * The limit of locked memory (ulimit -l) is for all processes of a user. The io_uring of a file:
 * device takes a 32nd of it (16 KiB at least), registered memory of a process a quarter; commands
 * on other memory take a little longer. Threads serve a device for whose io_uring no room is left,
 * and a warning tells so.
 *
 * A memory range (annex/hdm.h) is memory that is mapped and given out in pieces:
 *
 *	shm:PATH	A shared file, which may also be the memory of an emulated CXL device. It is
 *			persistent if the file is on a DAX file system, otherwise volatile.
 *	dax:PATH	A devdax region, as the drivers of CXL and of persistent memory make them
 *			(/dev/dax0.0). It is persistent if it is on an NVDIMM bus.
 *	numa:NODE	Memory of a NUMA node, where the kernel puts CXL memory that it uses itself.
 *			No other process can open it.
 *	cxlssd:PATH	A modelled CXL-SSD in a file; without PATH in memory of the process. Its
 *			keys are in annex/models/cxlssd.h.
 *	pci:A[,A]...	A CXL device that is bound to annex.ko, or 2, 4 or 8 of them in turns. The
 *			first open makes the range, later ones with the same devices join it, and
 *			the last close frees the decoders. Persistent memory keeps its contents;
 *			volatile memory is not cleared but counts as lost.
 *
 *	size=SIZE	shm: make the file if there is none, fill it if it is empty; otherwise it
 *			must be that large. numa: required. pci: a multiple of 256M for each device;
 *			by default all that is free, or the size of the range to join.
 *	persistent=0|1	shm: whether the contents count as persistent, without DAX by msync(2).
 *			pci: which memory of a device that has both kinds; by default the volatile.
 *	format=1	shm:, dax:, pci: begin with a new table, whatever was there. Refused while
 *			others use the range.
 *	poison=OFFSET	shm: treat the page there as poisoned: it is never given out. May be
 *			repeated.
 *	huge=0|1	numa: use huge pages of 2 MiB, which must be set aside (vm.nr_hugepages).
 *	granularity=N	pci: bytes that lie on one device in a row, a power of two from 256 to 16K;
 *			by default the window's.
 *	m2func=SIZE	pci: uncached bytes at the end, had in pieces, for function calls by stores,
 *			a multiple of 2M. To join a range, name as many as it has. A process gets at
 *			most half of them, in 31 pieces (-EMFILE).
 *	window=SIZE	cxlssd: host memory that the range is seen through, at least 1M; by default
 *			all of it.
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
 * struct annex_uri - A URI in its parts. Strings point into @text.
 * @scheme: the part before the first colon.
 * @body: the part behind it, unescaped.
 * @nparams: number of parameters.
 * @params: key, and unescaped value, of each parameter.
 * @text: the strings' bytes.
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
 * enum annex_trait - Facts that a URI alone tells of a device or a range: annex_dev_traits(),
 * annex_hdm_traits().
 * @ANNEX_TRAIT_PATH: its body is the path of a file.
 * @ANNEX_TRAIT_PCI: its body is PCI addresses.
 * @ANNEX_TRAIT_SERVED: its queues are served in this process.
 * @ANNEX_TRAIT_VOLATILE: its data ends with the handle.
 * @ANNEX_TRAIT_SHARED: the kernel's driver keeps it, for its other users too. No command can be
 *	aborted, and the controller cannot be reset: a command that is late ends by the kernel's
 *	timeout.
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
 * annex_uri_parse() - Split a URI.
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
 * annex_uri_check_keys() - Refuse unknown and repeated parameters.
 * @uri: the URI.
 * @keys: keys that are allowed, NULL at the end; a key with three dots behind ("fault...") may be
 *	repeated.
 *
 * Return: 0 or -EINVAL, with the key named in annex_last_error().
 */
int annex_uri_check_keys(const struct annex_uri *uri, const char *const *keys);

/**
 * annex_uri_u64() - A parameter as a number (annex_parse_size()).
 * @uri: the URI.
 * @key: the key.
 * @min: the least value that is allowed.
 * @max: the largest value that is allowed.
 * @value: the number; left alone when the parameter is absent.
 *
 * Return: 0; -EINVAL or -ERANGE, with the parameter named in annex_last_error().
 */
int annex_uri_u64(const struct annex_uri *uri, const char *key, uint64_t min, uint64_t max,
		  uint64_t *value);

/**
 * annex_uri_bool() - A parameter as 0 or 1.
 * @uri: the URI.
 * @key: the key.
 * @value: the value; left alone when the parameter is absent.
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
