/* SPDX-License-Identifier: MIT */
/*
 * The part of the kernel that the module's files about registers and tables use, for tests outside
 * of it: the Makefile compiles them with this in the place of every <linux/...>. There is one PCI
 * device, whose registers are memory. Time advances only in waits.
 */
#ifndef TESTS_KERNEL_SHIM_H
#define TESTS_KERNEL_SHIM_H

#include <errno.h>
#include <linux/pci_regs.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef unsigned long long u64;
typedef u64 phys_addr_t, resource_size_t;
typedef int irqreturn_t, gfp_t;

#define __iomem
#define __packed __attribute__((packed))
#define U8_MAX UINT8_MAX
#define U16_MAX UINT16_MAX
#define U32_MAX UINT32_MAX
#define U64_MAX (~0ull)
#define SZ_4K 0x1000u
#define SZ_64K 0x10000u
#define SZ_256M 0x10000000u
#define PAGE_SIZE 4096ul
#define USEC_PER_MSEC 1000ul
#define USEC_PER_SEC 1000000ul
#define GFP_KERNEL 0

#define BIT(n) (1ul << (n))
#define BIT_ULL(n) (1ull << (n))
#define GENMASK(h, l) ((~0ul << (l)) & (~0ul >> (63 - (h))))
#define GENMASK_ULL(h, l) (GENMASK(h, l) + 0ull)
#define FIELD_GET(mask, v) ((typeof(mask))(((v) & (mask)) / ((mask) & -(mask))))
#define FIELD_PREP(mask, v) (((typeof(mask))(v) * ((mask) & -(mask))) & (mask))
#define ALIGN(v, a) (((v) + ((a)-1)) & ~((typeof(v))(a)-1))
#define IS_ALIGNED(v, a) (!((v) & ((typeof(v))(a)-1)))
#define is_power_of_2(n) ((n) && !((n) & ((n)-1)))
#define ilog2(n) (63u - (u32)__builtin_clzll(n))
#define div_u64(a, b) ((a) / (b))
#define upper_32_bits(v) ((u32)((v) >> 32))
#define lower_32_bits(v) ((u32)(v))
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define min3(a, b, c) min(a, min(b, c))
#define min_t(type, a, b) min((type)(a), (type)(b))
#define max_t(type, a, b) max((type)(a), (type)(b))
#define clamp_t(type, v, lo, hi) max((type)(lo), min_t(type, v, hi))
#define check_add_overflow __builtin_add_overflow
#define struct_size(p, member, n) (sizeof(*(p)) + (size_t)(n) * sizeof((p)->member[0]))
#define BUILD_BUG_ON(condition) _Static_assert(!(condition), "")
#define READ_ONCE(v) (v)
#define WRITE_ONCE(v, to) ((v) = (to))
#define smp_load_acquire(p) (*(p))
#define smp_store_release(p, to) (*(p) = (to))
#define container_of(p, type, member) ((type *)((char *)(p)-offsetof(type, member)))
#define swap(a, b)                                                                                 \
	do {                                                                                       \
		typeof(a) _was = (a);                                                              \
		(a) = (b);                                                                         \
		(b) = _was;                                                                        \
	} while (0)
#define le16_to_cpu(v) (v)
#define le32_to_cpu(v) (v)
#define le64_to_cpu(v) (v)
#define cpu_to_le32(v) (v)
#define cpu_to_le64(v) (v)

/* Lines for the log. */
#define say_of(who, ...) ((void)(who), shim_say(__VA_ARGS__))
#define pci_err say_of
#define pci_notice_ratelimited say_of
#define dev_err say_of
#define dev_notice say_of
#define dev_warn_ratelimited say_of
#define pr_notice_ratelimited shim_say
void shim_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Memory. */
#define kzalloc(n, gfp) calloc(1, n)
#define kvzalloc(n, gfp) calloc(1, n)
#define kcalloc(n, size, gfp) calloc(n, size)
#define kvcalloc(n, size, gfp) calloc(n, size)
#define kvmalloc_array(n, size, gfp) reallocarray(NULL, n, size)
#define kfree free
#define kvfree free
#define sort(list, n, size, compare, swap) qsort(list, n, size, compare)

/* There is one thread: to take a lock twice, or to release a free one, is a mistake. */
struct mutex {
	bool held;
};

void shim_require(bool truth);
u64 shim_us(void);
#define lockdep_assert_held(l) shim_require((l)->held)

static inline void mutex_lock(struct mutex *l)
{
	shim_require(!l->held);
	l->held = true;
}

static inline bool mutex_trylock(struct mutex *l)
{
	bool got = !l->held;

	l->held = true;
	return got;
}

static inline void mutex_unlock(struct mutex *l)
{
	shim_require(l->held);
	l->held = false;
}

#define mutex_init(l) ((l)->held = false)

struct list_head {
	struct list_head *next, *prev;
};

struct kref {
	unsigned int n;
};

#define LIST_HEAD(name) struct list_head name = {&(name), &(name)}
#define list_for_each_entry(at, head, member)                                                      \
	for (at = container_of((head)->next, typeof(*at), member); &at->member != (head);          \
	     at = container_of(at->member.next, typeof(*at), member))

typedef unsigned int atomic_t;
typedef unsigned int wait_queue_head_t;
#define init_waitqueue_head(w) (*(w) = 0)
#define wake_up_all(w) (++*(w))
#define wait_event(w, condition) shim_require(condition)
#define wq_has_sleeper(w) ((void)(w), shim.sleepers)
#define cond_resched() ((void)0)
#define fatal_signal_pending(process) (shim.killed)

/* Time. */
#define HZ 1000
#define jiffies ((unsigned long)(shim.us / 1000))
#define time_before(a, b) ((long)((a) - (b)) < 0)
#define get_jiffies_64() ((u64)jiffies)
#define time_before64(a, b) ((int64_t)((a) - (b)) < 0)
#define ktime_get_real_ns() 1234567890ull
#define msleep(ms) ((void)(shim.us += (ms)*1000ull))

/* Delayed work runs when a test calls shim_work(). */
struct work_struct {
	void (*work)(struct work_struct *);
};

struct delayed_work {
	struct work_struct work;
	u64 due; /* 0: not queued */
};

#define to_delayed_work(w) container_of(w, struct delayed_work, work)
#define INIT_DELAYED_WORK(w, f) (*(w) = (struct delayed_work){.work = {f}})
#define system_long_wq NULL

static inline void queue_delayed_work(void *queue, struct delayed_work *w, unsigned long delay)
{
	shim_require(!queue && w->work.work);
	if (!w->due)
		w->due = shim_us() + delay * 1000 + 1;
}

#define cancel_delayed_work_sync(w) ((w)->due = 0)
/* shim_work() - Advance time until the work is due, and run it; false: it is not queued. */
bool shim_work(struct delayed_work *w);

/* Poll less often the longer it takes. */
#define read_poll_timeout(op, v, condition, sleep_us, limit_us, before, ...)                       \
	({                                                                                         \
		u64 _from = shim.us;                                                               \
		while ((v) = op(__VA_ARGS__), !(condition) && shim.us - _from <= (limit_us))       \
			shim.us += (sleep_us) + (shim.us - _from) / 4;                             \
		(condition) ? 0 : -ETIMEDOUT;                                                      \
	})
#define readl_poll_timeout(at, v, condition, sleep_us, limit_us)                                   \
	read_poll_timeout(readl, v, condition, sleep_us, limit_us, false, at)

/* Registers. */
u32 readl(const void *at);
u64 readq(const void *at);
void writel(u32 value, void *at);
void writeq(u64 value, void *at);
#define memcpy_fromio memcpy
#define memcpy_toio memcpy
#define memset_io memset
#define wmb() ((void)0)
void *ioremap(phys_addr_t at, u64 bytes);
void iounmap(void *at);

/* The PCI device. */
struct device {
	int id;
};

struct pci_dev {
	struct device dev;
	u8 hdr_type, msix_cap;
	bool untrusted;
};

#define dev_name(dev) "device"
#define IORESOURCE_MEM 0x200
#define PCI_IRQ_MSI 1
#define PCI_IRQ_MSIX 2
#define IRQ_HANDLED 1
#define IRQF_ONESHOT 1
#define PCI_CFG_SPACE_EXP_SIZE 4096
#define pci_set_master(pdev) ((void)(pdev), shim.master = true)
#define pci_irq_vector(pdev, n) ((int)(n))
#define pci_resource_start(pdev, n) ((void)(pdev), shim.bar[n].start)
#define pci_resource_len(pdev, n) ((void)(pdev), shim.bar[n].bytes)
#define pci_resource_flags(pdev, n) ((void)(pdev), shim.bar[n].flags)
u16 pci_find_dvsec_capability(struct pci_dev *pdev, u16 vendor, u16 id);
int pci_read_config_word(struct pci_dev *pdev, int at, u16 *value);
int pci_read_config_dword(struct pci_dev *pdev, int at, u32 *value);
int pci_alloc_irq_vectors(struct pci_dev *pdev, unsigned int least, unsigned int most,
			  unsigned int flags);
void pci_free_irq_vectors(struct pci_dev *pdev);
int request_threaded_irq(unsigned int irq, void *quick, irqreturn_t (*thread)(int, void *),
			 unsigned long flags, const char *name, void *data);
void free_irq(unsigned int irq, void *data);
#define annex_owns_events(pdev) ((void)(pdev), !shim.firmware)

#define get_random_u64() 0x123456789abcdefull

typedef struct {
	u8 b[16];
} uuid_t;

#define UUID_INIT(a, b, c, ...)                                                                    \
	{                                                                                          \
		{                                                                                  \
			(a) >> 24 & 255, (a) >> 16 & 255, (a) >> 8 & 255, (a)&255, (b) >> 8 & 255, \
				(b)&255, (c) >> 8 & 255, (c)&255, __VA_ARGS__                      \
		}                                                                                  \
	}
#define uuid_equal(a, b) (!memcmp(a, b, sizeof(uuid_t)))

/* The CEDT: ACPI 6.5, CXL 3.1 section 9.18.1. */
#define ACPI_CEDT_TYPE_CHBS 0
#define ACPI_CEDT_TYPE_CFMWS 1
#define ACPI_CEDT_CFMWS_ARITHMETIC_MODULO 0
#define ACPI_CEDT_CFMWS_RESTRICT_DEVMEM 1
#define ACPI_CEDT_CFMWS_RESTRICT_HOSTONLYMEM 2
#define ACPI_CEDT_CFMWS_RESTRICT_VOLATILE 4
#define ACPI_CEDT_CFMWS_RESTRICT_PMEM 8
#define ACPI_CEDT_CFMWS_RESTRICT_FIXED 16
#define ACPI_CEDT_CHBS_VERSION_CXL20 1
#define ANNEX_IMPORT_NS(ns) _Static_assert(1, "")

struct acpi_cedt_header {
	u8 type, reserved;
	u16 length;
} __packed;

struct acpi_cedt_chbs {
	struct acpi_cedt_header header;
	u32 uid, cxl_version, reserved;
	u64 base, length;
} __packed;

struct acpi_cedt_cfmws {
	struct acpi_cedt_header header;
	u32 reserved1;
	u64 base_hpa, window_size;
	u8 interleave_ways, interleave_arithmetic;
	u16 reserved2;
	u32 granularity;
	u16 restrictions, qtg_id;
	u32 interleave_targets[];
} __packed;

union acpi_subtable_headers {
	struct acpi_cedt_header cedt;
};

typedef int (*acpi_tbl_entry_handler_arg)(union acpi_subtable_headers *, void *,
					  const unsigned long);
int acpi_table_parse_cedt(int id, acpi_tbl_entry_handler_arg handler, void *arg);

/* Addresses. */
struct resource {
	u64 start, end;
	const char *name;
	unsigned long flags, desc;
	struct resource *parent, *sibling, *child;
};

#define IORES_DESC_NONE 0
#define IORES_DESC_CXL 1
#define IORESOURCE_SYSTEM_RAM 1
#define IORESOURCE_BUSY 0x80000000
#define REGION_DISJOINT 1
extern struct resource iomem_resource;
struct resource *request_mem_region(u64 base, u64 bytes, const char *name);
void release_mem_region(u64 base, u64 bytes);
int region_intersects(u64 start, u64 bytes, unsigned long flags, unsigned long desc);
int insert_resource(struct resource *root, struct resource *res);
int remove_resource(struct resource *res);
int walk_iomem_res_desc(unsigned long desc, unsigned long flags, u64 start, u64 end, void *arg,
			int (*look)(struct resource *, void *));

#define trace_annex_hdm_commit(name, id, base, bytes, err) ((void)(err))
#define trace_annex_hdm_decommit trace_annex_hdm_commit
struct seq_file;
void seq_printf(struct seq_file *to, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define SHIM_BARS 6
#define SHIM_VECTORS 16
#define SHIM_REGIONS 8

/**
 * struct shim - The machine.
 * @us: time in microseconds.
 * @config: configuration space of the device.
 * @bar: BARs of the device, and their memory.
 * @mapped: number of mappings of BARs.
 * @reads: called before a register is read.
 * @wrote: called after a register was written.
 * @cedt: the CEDT, with its header; NULL: there is none.
 * @cedt_bytes: size of @cedt.
 * @taken: requested memory regions; unused ones have no parent.
 * @vectors: number of interrupt vectors.
 * @thread: handler of each vector.
 * @data: argument of each handler.
 * @linear_cache: bytes of each window that are a cache.
 * @firmware: firmware owns event records.
 * @sleepers: a wait queue has waiters.
 * @master: bus mastering is on.
 * @killed: the calling process has a fatal signal.
 * @line: last line of the log.
 * @lines: number of lines in the log.
 */
extern struct shim {
	u64 us;
	u8 config[PCI_CFG_SPACE_EXP_SIZE];
	struct {
		u64 start, bytes, flags;
		u8 *mem;
	} bar[SHIM_BARS];
	int mapped;
	void (*reads)(const u8 *at);
	void (*wrote)(u8 *at);
	u8 *cedt;
	u32 cedt_bytes;
	struct resource taken[SHIM_REGIONS];
	int vectors;
	irqreturn_t (*thread[SHIM_VECTORS])(int, void *);
	void *data[SHIM_VECTORS];
	u64 linear_cache;
	bool firmware, sleepers, master, killed;
	char line[256];
	unsigned int lines;
} shim;

#define annex_linear_cache(base, bytes) ((void)(base), shim.linear_cache)

#endif
