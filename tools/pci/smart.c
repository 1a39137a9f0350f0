// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "tools/common/error.h"
#include "ask.h"
#include "smart.h"

#define LOG_SMART 2
#define NSID_ALL UINT32_MAX

static uint64_t number(const uint8_t *p, unsigned int bytes)
{
	uint64_t n = 0;

	while (bytes--) {
		if (n >> 56)
			return UINT64_MAX;
		n = n << 8 | p[bytes];
	}
	return n;
}

static int degrees(const uint8_t *p)
{
	int kelvin = (int)number(p, 2);

	return kelvin ? kelvin - 273 : SMART_NO_DEGREES;
}

static void warn_of(struct smart *s, unsigned int bits)
{
	static const char *const words[SMART_WARNINGS] = {
		"few spare blocks left",
		"too hot or too cold",
		"less reliable",
		"read only",
		"no backup of volatile memory",
		"persistent memory is lost",
	};

	for (unsigned int i = 0; i < SMART_WARNINGS; i++)
		if (bits & 1u << i)
			s->warning[s->n++] = words[i];
}

void smart_parse(const uint8_t page[SMART_BYTES], struct smart *s)
{
	uint64_t *const counts[] = {&s->read,   &s->written, &s->reads,  &s->writes, &s->busy,
				    &s->cycles, &s->hours,   &s->unsafe, &s->media,  &s->errors};

	*s = (struct smart){
		.degrees = degrees(page + 1),
		.spare = page[3],
		.spare_least = page[4],
		.used = page[5],
		.warm = (uint32_t)number(page + 192, 4),
		.hot = (uint32_t)number(page + 196, 4),
	};
	warn_of(s, page[0]);
	for (unsigned int i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		*counts[i] = number(page + 32 + i * 16, 16);
	for (unsigned int i = 0; i < SMART_SENSORS; i++)
		s->sensor[i] = degrees(page + 200 + i * 2);
}

int smart_wait(const char *addr)
{
	struct annex_ioc_info info;
	struct pollfd p = {.fd = ask_open(addr, &info), .events = POLLPRI};
	int err = 0;

	if (p.fd < 0)
		return p.fd;
	if (!(info.flags & ANNEX_INFO_EVENTS))
		err = err_set(-EOPNOTSUPP, "pci:%s: reports no events", addr);
	else if (poll(&p, 1, -1) < 0)
		err = err_sys("pci:%s: poll", addr);
	else if (p.revents & POLLHUP)
		err = err_set(-ENODEV, "pci:%s: was removed", addr);
	close(p.fd);
	return err;
}

int smart_ask(const char *addr, struct smart *s)
{
	struct annex_ioc_info info;
	uint8_t page[SMART_BYTES];
	struct annex_ioc_log log = {.size = sizeof(log),
				    .lid = LOG_SMART,
				    .nsid = NSID_ALL,
				    .bytes = sizeof(page),
				    .data = (uintptr_t)page};
	int fd = ask_open(addr, &info), err = 0;

	if (fd < 0)
		return fd;
	if (ioctl(fd, ANNEX_IOC_LOG, &log))
		err = errno == ENOTTY ? err_set(-errno,
						"pci:%s: this annex.ko tells no health: "
						"load the one of this version",
						addr)
		      : errno == EIO && log.status
			      ? err_set(-errno, "pci:%s: Get Log Page: status 0x%03x", addr,
					log.status)
			      : err_sys("pci:%s: Get Log Page", addr);
	else
		smart_parse(page, s);
	close(fd);
	return err;
}
