// SPDX-License-Identifier: MIT
/*
 * Devices with impossible registers are refused, each with its errno and one line, and their
 * registers are unmapped.
 */
#include "rig.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define ROUNDS 2000
#define MOST 65 /* changes to one device */

/* struct lie - A changed register, and the result of probing the device. */
struct lie {
	enum { CONFIG, COMPONENT, DEVICE, BAR_BYTES, BAR_FLAGS } where;
	u32 at;
	u32 bytes;
	u64 value;
	int err;
};

#define DVSEC(at) RIG_DVSEC + (at)
#define BLOCK(i) RIG_LOCATOR + CXL_LOCATOR_BLOCKS + 8 * (i)
#define HEADER(i) (i) * CXL_DEV_HEADER
#define LOCATOR_LEN(n) ((u32)(n) << 20 | CXL_VENDOR)

static void apply_lie(const struct lie *l)
{
	u32 bar = l->where == COMPONENT ? 0 : 2;

	switch (l->where) {
	case CONFIG:
		memcpy(rig_config(l->at), &l->value, l->bytes);
		break;
	case BAR_BYTES:
		shim.bar[l->at].bytes = l->value;
		break;
	case BAR_FLAGS:
		shim.bar[l->at].flags = l->value;
		break;
	default:
		memcpy(rig_register(bar, l->at), &l->value, l->bytes);
		break;
	}
}

/* Probe a device with each lie of a list: it is refused within @most_s. */
static void refuse(const struct lie *lies, u32 n, u64 most_s)
{
	for (u32 i = 0; i < n; i++) {
		int err;

		rig_make();
		apply_lie(&lies[i]);
		err = rig_start();
		if (err != lies[i].err || shim.lines != 1)
			printf("lie %u: error %d, %u lines: %s", i, err, shim.lines, shim.line);
		CU_ASSERT_EQUAL(err, lies[i].err);
		CU_ASSERT_EQUAL(shim.lines, 1);
		CU_ASSERT(shim.us <= 1 + most_s * USEC_PER_SEC);
		rig_over();
	}
}

#define REFUSE(lies, most_s) refuse(lies, sizeof(lies) / sizeof((lies)[0]), most_s)

static void good_device(void)
{
	rig_make();
	rig.npoison = 1;
	rig.poison[0] = (struct cxl_poison_record){.address = 4096, .lines = 2};
	CU_ASSERT_EQUAL(rig_start(), 0);
	CU_ASSERT_EQUAL(shim.lines, 0);
	CU_ASSERT_EQUAL(rig.decoders.count, 4);
	CU_ASSERT_EQUAL_FATAL(rig.media.npoison, 1);
	CU_ASSERT_EQUAL(rig.media.poison[0].addr, 4096);
	CU_ASSERT_EQUAL(rig.media.poison[0].bytes, 128);
	CU_ASSERT(rig.media.interrupts);
	rig_over();
}

static void dvsec_lies(void)
{
	static const struct lie lies[] = {
		{CONFIG, DVSEC(PCI_DVSEC_HEADER2), 2, 7, -ENXIO},
		{CONFIG, DVSEC(CXL_DEVICE_CAP), 2, 1 << 4, -ENXIO},
		{CONFIG, DVSEC(PCI_DVSEC_HEADER1), 4, LOCATOR_LEN(0x10), -EINVAL},
		{CONFIG, DVSEC(PCI_DVSEC_HEADER1), 4, LOCATOR_LEN(0xfff), -EINVAL},
		{CONFIG, DVSEC(CXL_DEVICE_CAP), 2, CXL_DEVICE_CAP_MEM | 3 << 4, -EINVAL},
		/* The list of capabilities is a loop. */
		{CONFIG, DVSEC(0), 4, (u32)RIG_DVSEC << 20 | PCI_EXT_CAP_ID_DVSEC, -ENXIO},
	};

	REFUSE(lies, 0);
}

static void locator_lies(void)
{
	static const struct lie lies[] = {
		{CONFIG, BLOCK(0), 4, CXL_BLOCK_COMPONENT << 8 | 1, -EINVAL},
		{CONFIG, BLOCK(0), 4, CXL_BLOCK_COMPONENT << 8 | 6, -EINVAL},
		{CONFIG, BLOCK(0), 4, CXL_BLOCK_COMPONENT << 8 | 7, -EINVAL},
		{CONFIG, BLOCK(0), 4, 0x10000 | CXL_BLOCK_COMPONENT << 8, -EINVAL},
		{CONFIG, BLOCK(0), 4, 0xffff0000 | CXL_BLOCK_COMPONENT << 8, -EINVAL},
		{CONFIG, BLOCK(0) + 4, 4, U32_MAX, -EINVAL},
		{CONFIG, BLOCK(1) + 4, 4, 1, -EINVAL},
		{CONFIG, BLOCK(1), 4, CXL_BLOCK_DEVICE << 8 | 0, -EINVAL}, /* as block 0 */
		{CONFIG, BLOCK(0), 4, 0, -ENXIO},
		{CONFIG, BLOCK(1), 4, 0, -ENXIO},
		{CONFIG, RIG_LOCATOR + PCI_DVSEC_HEADER1, 4, LOCATOR_LEN(4), -EINVAL},
		{CONFIG, RIG_LOCATOR + PCI_DVSEC_HEADER1, 4, LOCATOR_LEN(0xffe), -EINVAL},
		{CONFIG, RIG_LOCATOR + PCI_DVSEC_HEADER2, 2, 9, -ENXIO},
		{BAR_BYTES, 0, 0, 0x1000, -EINVAL},
		{BAR_BYTES, 0, 0, 1, -EINVAL},
		{BAR_BYTES, 2, 0, 0, -EINVAL},
		{BAR_FLAGS, 2, 0, 0x100, -EINVAL}, /* ports */
	};

	REFUSE(lies, 0);
}

static void component_lies(void)
{
	static const struct lie lies[] = {
		{COMPONENT, CXL_CM, 4, U32_MAX, -EINVAL},
		{COMPONENT, CXL_CM, 4, 0, -EINVAL},
		{COMPONENT, CXL_CM, 4, 2 << 24 | 2 << 16 | CXL_CM_ARRAY, -EOPNOTSUPP},
		{COMPONENT, CXL_CM, 4, 1 << 24 | 1 << 16 | CXL_CM_ARRAY, -ENODEV},
		{COMPONENT, CXL_CM + 8, 4, RIG_HDM << 20 | 0 << 16 | CXL_CM_HDM, -EOPNOTSUPP},
		{COMPONENT, CXL_CM + 8, 4, RIG_HDM << 20 | 9 << 16 | CXL_CM_HDM, -EOPNOTSUPP},
		{COMPONENT, CXL_CM + 8, 4, 0xff0u << 20 | 1 << 16 | CXL_CM_HDM, -EINVAL},
		{COMPONENT, CXL_CM + 8, 4, 0x201 << 20 | 1 << 16 | CXL_CM_HDM, -EINVAL},
		{COMPONENT, CXL_CM + 8, 4, 0x008 << 20 | 1 << 16 | CXL_CM_HDM, -EINVAL},
		{COMPONENT, CXL_CM + RIG_HDM, 4, 13, -EINVAL},
	};
	/* One decoder fits there. */
	static const struct lie last = {COMPONENT, CXL_CM + 8, 4,
					0xfb0u << 20 | 1 << 16 | CXL_CM_HDM, 0};
	u32 many = 12;

	REFUSE(lies, 0);
	rig_make();
	apply_lie(&last);
	CU_ASSERT_EQUAL(rig_start(), 0);
	rig_stop();
	memcpy(rig_register(0, CXL_CM + 0xfb0), &many, sizeof(many));
	CU_ASSERT_EQUAL(rig_start(), -EINVAL);
	rig_over();
}

static void array_lies(void)
{
	static const struct lie lies[] = {
		{DEVICE, 0, 8, U64_MAX, -EINVAL},
		{DEVICE, 0, 8, 3ull << 32 | 1 << 16 | 1, -EINVAL},
		{DEVICE, 0, 8, 65ull << 32 | 1 << 16, -EINVAL},
		{DEVICE, 0, 8, 3ull << 32, -EOPNOTSUPP},
		{DEVICE, 0, 8, 3ull << 32 | 2 << 16, -EOPNOTSUPP},
		{DEVICE, 0, 8, 2ull << 32 | 1 << 16, -ENXIO},
		{DEVICE, HEADER(1), 4, CXL_DEV_STATUS | 3 << 16, -EOPNOTSUPP},
		{DEVICE, HEADER(2), 4, CXL_DEV_MBOX, -EOPNOTSUPP},
		{DEVICE, HEADER(2), 4, CXL_DEV_MEMDEV | 1 << 16, -EINVAL}, /* twice */
		{DEVICE, HEADER(2) + 4, 4, 0x201, -EINVAL},
		{DEVICE, HEADER(2) + 4, 4, 0x30, -EINVAL},
		{DEVICE, HEADER(2) + 4, 4, 0x20000, -EINVAL},
		{DEVICE, HEADER(2) + 4, 4, 0xfffffff8, -EINVAL},
		{DEVICE, HEADER(2) + 8, 4, U32_MAX, -EINVAL},
		{DEVICE, HEADER(2) + 8, 4, CXL_MBOX_PAYLOAD, -EINVAL},
		{DEVICE, HEADER(3) + 8, 4, 0, -EINVAL},
		{DEVICE, RIG_MBOX + CXL_MBOX_CAP, 4, 7, -EINVAL},
		{DEVICE, RIG_MBOX + CXL_MBOX_CAP, 4, 12, -EINVAL}, /* more than it has */
		{DEVICE, RIG_MBOX + CXL_MBOX_CAP, 4, 21, -EINVAL},
		{DEVICE, RIG_MBOX + CXL_MBOX_CAP, 4, U32_MAX, -EINVAL},
	};

	REFUSE(lies, 0);
}

static void never_ready(void)
{
	static const struct lie lies[] = {
		{CONFIG, DVSEC(CXL_DEVICE_SIZE_LOW(0)), 4, 0, -ETIMEDOUT},
		{CONFIG, DVSEC(CXL_DEVICE_SIZE_LOW(0)), 4, CXL_DEVICE_VALID, -ETIMEDOUT},
		{CONFIG, DVSEC(CXL_DEVICE_SIZE_LOW(0)), 4, U32_MAX, -ENODEV},
		{DEVICE, RIG_MEMDEV, 8, 0, -ETIMEDOUT},
		{DEVICE, RIG_MEMDEV, 8, CXL_MEMDEV_MBOX_READY, -ETIMEDOUT},
		{DEVICE, RIG_MEMDEV, 8, CXL_MEMDEV_MEDIA_READY << 2, -ETIMEDOUT},
		{DEVICE, RIG_MEMDEV, 8, CXL_MEMDEV_MBOX_READY | 2 << 2, -EIO},
		{DEVICE, RIG_MEMDEV, 8, 3 << 2, -EIO},
		{DEVICE, RIG_MEMDEV, 8, CXL_MEMDEV_FATAL, -EIO},
		{DEVICE, RIG_MEMDEV, 8, CXL_MEMDEV_HALT | CXL_MEMDEV_MBOX_READY | 1 << 2, -EIO},
		{DEVICE, RIG_MEMDEV, 8, U64_MAX, -ENODEV},
	};

	REFUSE(lies, 90);
}

static void remove_when_asked(const u8 *at)
{
	rig.regs.ending |= at == rig_register(2, RIG_MEMDEV) && shim.us > USEC_PER_SEC;
}

/* The removal of a device that is never ready does not wait for it. */
static void removed(void)
{
	static const struct lie lie = {DEVICE, RIG_MEMDEV, 8, 0, 0};

	rig_make();
	apply_lie(&lie);
	shim.reads = remove_when_asked;
	CU_ASSERT_EQUAL(rig_start(), -ENODEV);
	CU_ASSERT(shim.us < 2 * USEC_PER_SEC);
	rig_over();
}

/* The module waits as long as declared, and not much longer; a reserved code is the longest. */
static void declared(void)
{
	static const u64 most_s[] = {60, 60, 60, 64, 256, 256, 256, 256};

	for (u32 code = 0; code < 8; code++) {
		u32 low = CXL_DEVICE_VALID | code << 13;

		rig_make();
		memcpy(rig_config(DVSEC(CXL_DEVICE_SIZE_LOW(0))), &low, sizeof(low));
		CU_ASSERT_EQUAL(rig_start(), -ETIMEDOUT);
		CU_ASSERT(shim.us > most_s[code] * USEC_PER_SEC);
		CU_ASSERT(shim.us < 3 * most_s[code] / 2 * USEC_PER_SEC);
		CU_ASSERT_EQUAL(shim.lines, 1);
		rig_over();
	}
}

static void late_device(void)
{
	rig_make();
	memset(rig_register(2, RIG_MEMDEV), 0, 8);
	rig.late = 5 * USEC_PER_SEC;
	CU_ASSERT_EQUAL(rig_start(), 0);
	CU_ASSERT(shim.us >= 5 * USEC_PER_SEC && shim.us < 10 * USEC_PER_SEC);
	CU_ASSERT_EQUAL(shim.lines, 0);
	rig_over();
}

/* In a shared BAR the device registers end at the component registers. */
static void shared_bar(void)
{
	static const struct lie lie = {CONFIG, BLOCK(0), 4, 0x10000 | CXL_BLOCK_COMPONENT << 8 | 2,
				       0};
	u32 at = 0xfff0, behind = 0x11000;

	rig_make();
	memcpy(rig_register(2, 0x11000), rig_register(0, CXL_CM), CXL_CM_BYTES);
	apply_lie(&lie);
	CU_ASSERT_EQUAL(rig_start(), 0);
	rig_stop();
	memcpy(rig_register(2, HEADER(3) + 4), &behind, sizeof(behind));
	CU_ASSERT_EQUAL(rig_start(), -EINVAL);
	rig_stop();
	/* The last place in the device registers. */
	memcpy(rig_register(2, HEADER(1) + 4), &at, sizeof(at));
	at = RIG_MEMDEV;
	memcpy(rig_register(2, HEADER(3) + 4), &at, sizeof(at));
	CU_ASSERT_EQUAL(rig_start(), 0);
	rig_over();
}

static void random_devices(void)
{
	uint64_t seed = random_seed("devices");
	uint8_t input[MOST * 8];

	for (int round = 0; round < ROUNDS; round++) {
		random_fill(&seed, input, sizeof(input));
		rig_hostile(input, 8 * (1 + random_next(&seed) % MOST));
	}
	CU_PASS("all ended");
}

UNIT_SUITE(cxl_device, {"a good device starts", good_device}, {"a DVSEC that lies", dvsec_lies},
	   {"a register locator that lies", locator_lies},
	   {"component registers that lie", component_lies},
	   {"device registers that lie", array_lies}, {"a device that is never ready", never_ready},
	   {"a device that is removed before it is ready", removed},
	   {"a device that declares how late it is", declared},
	   {"a device that is ready late", late_device}, {"registers that share a BAR", shared_bar},
	   {"random devices", random_devices})
