/* SPDX-License-Identifier: MIT */
/*
 * The part of <linux/nvme.h> and of the kernel that the module's files about NVMe controllers use
 * beside shim.h. Registers and structures are from NVMe Base 2.0: sections 3.1.3, 3.3.3, 5.
 */
#ifndef TESTS_KERNEL_NVME_H
#define TESTS_KERNEL_NVME_H

#include "shim.h"

#define NVME_REG_CAP 0x00
#define NVME_REG_VS 0x08
#define NVME_REG_CC 0x14
#define NVME_REG_CSTS 0x1c
#define NVME_REG_AQA 0x24
#define NVME_REG_ASQ 0x28
#define NVME_REG_ACQ 0x30
#define NVME_REG_CMBLOC 0x38
#define NVME_REG_CMBSZ 0x3c
#define NVME_REG_CMBMSC 0x50
#define NVME_REG_CRTO 0x68
#define NVME_REG_PMRCTL 0xe04
#define NVME_REG_DBS 0x1000

#define NVME_CRTO_CRWMT(crto) ((crto)&0xffff)

#define NVME_CAP_MQES(cap) ((cap)&0xffff)
#define NVME_CAP_TIMEOUT(cap) ((cap) >> 24 & 0xff)
#define NVME_CAP_STRIDE(cap) ((cap) >> 32 & 0xf)
#define NVME_CAP_CSS(cap) ((cap) >> 37 & 0xff)
#define NVME_CAP_CSS_NVM 1u
#define NVME_CAP_MPSMIN(cap) ((cap) >> 48 & 0xf)
#define NVME_CAP_CMBS(cap) ((cap) >> 57 & 1)
#define NVME_CAP_CRMS_CRWMS (1ull << 59)

#define NVME_CC_ENABLE 1u
#define NVME_CC_CSS_NVM 0u
#define NVME_CC_SHN_NORMAL (1u << 14)
#define NVME_CC_SHN_MASK (3u << 14)
#define NVME_CC_IOSQES (6u << 16)
#define NVME_CC_IOCQES (4u << 20)
#define NVME_CSTS_RDY 1u
#define NVME_CSTS_CFS 2u
#define NVME_CSTS_SHST_CMPLT (2u << 2)
#define NVME_CSTS_SHST_MASK (3u << 2)

#define NVME_CMB_BIR(loc) ((loc)&7)
#define NVME_CMB_OFST(loc) ((loc) >> 12 & 0xfffff)
#define NVME_CMBSZ_SQS 1u
#define NVME_CMBSZ_CQS 2u
#define NVME_CMBSZ_LISTS 4u
#define NVME_CMBSZ_RDS 8u
#define NVME_CMBSZ_WDS 16u
#define NVME_CMBSZ_SZU_SHIFT 8
#define NVME_CMBSZ_SZU_MASK 0xfu
#define NVME_CMBSZ_SZ_SHIFT 12
#define NVME_CMBSZ_SZ_MASK 0xfffffu
#define NVME_CMBMSC_CRE 1ull
#define NVME_CMBMSC_CMSE 2ull

#define NVME_FEAT_NUM_QUEUES 7
#define NVME_FEAT_ASYNC_EVENT 11
#define NVME_FEAT_HOST_MEM_BUF 13
#define NVME_HOST_MEM_ENABLE 1u
#define NVME_ID_CNS_CTRL 1
#define NVME_CTRL_OACS_DBBUF_SUPP (1u << 8)

enum {
	nvme_admin_get_log_page = 0x02,
	nvme_admin_identify = 0x06,
	nvme_admin_set_features = 0x09,
	nvme_admin_async_event = 0x0c,
	nvme_admin_dbbuf = 0x7c,
};

struct nvme_common {
	u8 opcode, flags;
	u16 command_id;
	u32 nsid, cdw2[2];
	u64 metadata;
	struct {
		u64 prp1, prp2;
	} dptr;
	u32 cdw10[6];
};

struct nvme_command {
	union {
		struct nvme_common common;
		struct {
			u8 opcode, flags;
			u16 command_id;
			u32 nsid;
			u64 rsvd2[2];
			struct {
				u64 prp1, prp2;
			} dptr;
			u8 cns;
		} identify;
		struct {
			u8 opcode, flags;
			u16 command_id;
			u32 nsid;
			u64 rsvd2[4];
			u32 fid, dword11, dword12, dword13, dword14, dword15;
		} features;
		struct {
			u8 opcode, flags;
			u16 command_id;
			u32 nsid;
			u64 rsvd2[4];
			u8 lid, lsp;
			u16 numdl;
		} get_log_page;
	};
};

struct nvme_completion {
	union {
		u32 u32;
		u64 u64;
	} result;
	u16 sq_head, sq_id, command_id, status;
};

#define NVME_NS_DPS_PI_MASK 7

struct nvme_lbaf {
	u16 ms;
	u8 ds, rp;
};

struct nvme_id_ns {
	u64 nsze, ncap, nuse;
	u8 nsfeat, nlbaf, flbas, mc, dpc, dps, between[98];
	struct nvme_lbaf lbaf[64];
	u8 after[3712];
};

struct nvme_id_ctrl {
	u8 before[77], mdts, between[10];
	u32 rtd3e;
	u8 behind[164];
	u16 oacs;
	u8 beside[14];
	u32 hmpre, hmmin;
	u8 past[52];
	u32 hmminds;
	u16 hmmaxd;
	u8 after[3758];
};

struct nvme_host_mem_buf_desc {
	u64 addr;
	u32 size, rsvd;
};

_Static_assert(sizeof(struct nvme_command) == 64, "submission queue entry");
_Static_assert(sizeof(struct nvme_completion) == 16, "completion queue entry");
_Static_assert(sizeof(struct nvme_id_ctrl) == 4096, "Identify Controller");
_Static_assert(offsetof(struct nvme_id_ctrl, hmpre) == 272, "HMPRE");
_Static_assert(offsetof(struct nvme_id_ctrl, hmminds) == 332, "HMMINDS");
_Static_assert(sizeof(struct nvme_id_ns) == 4096, "Identify Namespace");

/* DMA: the bus address of memory is its address in this process. */
typedef u64 dma_addr_t;
enum dma_data_direction { DMA_BIDIRECTIONAL, DMA_TO_DEVICE, DMA_FROM_DEVICE };
#define __GFP_ZERO 1
#define __GFP_NORETRY 0
#define __GFP_NOWARN 0
#define MAX_ORDER_NR_PAGES 1024
#define dma_rmb() ((void)0)
#define dma_wmb() ctrl_dma_wmb()
#define dma_need_sync(dev, addr) ((void)(dev), (void)(addr), false)
#define dev_is_dma_coherent(dev) ((void)(dev), true)
#define dma_mapping_error(dev, addr) ((void)(dev), !(addr))
#define dma_map_page(dev, p, at, n, way) ctrl_dma_map(p, n, way)
#define dma_unmap_page(dev, addr, n, way) ctrl_dma_unmap(addr, n, way)
#define dma_sync_single_for_cpu(dev, addr, n, way) ctrl_dma_sync(addr, n, way)
#define dma_sync_single_for_device(dev, addr, n, way) ctrl_dma_sync(addr, n, way)
#define __get_free_pages(gfp, order) ((unsigned long)ctrl_dma_alloc(gfp, order))
#define free_pages(p, order) ctrl_dma_free((void *)(p), order)
#define virt_to_page(p) ((struct page *)(p))
#define page_address(p) ((void *)(p))
#define clear_page(at) memset(at, 0, PAGE_SIZE)
struct page;
void *ctrl_dma_alloc(gfp_t gfp, unsigned int order);
void ctrl_dma_free(void *at, unsigned int order);
dma_addr_t ctrl_dma_map(void *at, u64 bytes, enum dma_data_direction way);
void ctrl_dma_unmap(dma_addr_t addr, u64 bytes, enum dma_data_direction way);
void ctrl_dma_sync(dma_addr_t addr, u64 bytes, enum dma_data_direction way);
void ctrl_dma_wmb(void);

/* A parameter of the module is @NAME_parameter for tests. */
typedef unsigned int uint;
#define module_param(name, type, mode) type *const name##_parameter = &(name)
#define MODULE_PARM_DESC(name, text) _Static_assert(sizeof(text) > 1, "")
#define min_not_zero(a, b) ((a) && (!(b) || (a) < (b)) ? (a) : (b))
extern uint *const max_hmb_mb_parameter;

/* Bitmaps, with a byte for each bit. */
#define bitmap_zalloc(n, gfp) ((unsigned long *)calloc((n) + 1, 1))
#define bitmap_free free
#define bitmap_set(map, at, n) memset((char *)(map) + (at), 1, n)
#define bitmap_clear(map, at, n) memset((char *)(map) + (at), 0, n)
unsigned long bitmap_find_next_zero_area(unsigned long *map, unsigned long bits,
					 unsigned long start, unsigned int n, unsigned long mask);

/* The machine around the device. */
#define SZ_1G 0x40000000u
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define round_down(v, to) ((v) / (to) * (to))
#define PAGE_ALIGN(v) ALIGN(v, PAGE_SIZE)
#define PCI_STD_NUM_BARS 6
#define pci_bus_address(pdev, n) ((void)(pdev), shim.bar[n].start)
#define hi_lo_writeq writeq
#define SZ_1M 0x100000u
#define ioremap_wc ioremap
#define dev_warn say_of
#define cpu_to_le16(v) (v)
#define trace_annex_event(dev, type, info, log) ((void)(dev), (void)(type), (void)(info))
#undef pci_irq_vector
#define pci_irq_vector(pdev, n) ((void)(pdev), (int)(n) + 1)
#define request_irq(irq, handler, flags, name, to) ctrl_request_irq(irq, handler, to)
int ctrl_request_irq(int irq, irqreturn_t (*handler)(int, void *), void *data);
#define dev_notice_ratelimited say_of
#define dev_is_pci(dev) ((dev)->id >= 0)
#define to_pci_dev(d) container_of(d, struct pci_dev, dev)
#define pci_clear_master(pdev) ((void)(pdev), shim.master = false)
#define pci_device_is_present(pdev) ((void)(pdev), !ctrl_gone())
bool ctrl_gone(void);

typedef struct {
	long long counter;
} atomic64_t;

#define atomic64_inc(v) (++(v)->counter)

struct cdev {
	int unused;
};

struct rw_semaphore {
	int unused;
};

/* There is no IOMMU: guests have one. */
#define IOMMU_READ 1
#define IOMMU_WRITE 2
#define IOMMU_CACHE 4
#define virt_to_phys(at) ((phys_addr_t)(uintptr_t)(at))
#define annex_iommu_map(domain, addr, phys, n, prot)                                               \
	((void)(domain), (void)(phys), (void)(prot), -ENODEV)
#define iommu_unmap(domain, addr, n) ((void)(domain))
struct iommu_domain;
struct iommu_group;
struct iova;
struct iova_domain {
	int unused;
};

#endif
