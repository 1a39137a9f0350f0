// SPDX-License-Identifier: MIT
/*
 * Warps of a GPU that read or write lines on NVMe drives, in virtual time (BaM, section 4):
 *
 *	warps URI [OPTION=VALUE]...	run kernels, and print their time as JSON
 *
 * Each drive is a CXL-SSD, whose flash serves the commands; a line is one of its pages.
 *
 *	drives=N	lines are spread over them in the order of the commands
 *	latency=NS	of a command in a drive, in addition to that of its flash
 *	warps=N		warps of a kernel, each with steps=N steps of lanes=N random lines
 *	write=1		write lines, do not read them
 *	lists=FILE	instead of warps=: each warp reads a range, line by line. The file has pairs
 *			of 64-bit numbers: the first byte and the length; a length of 0 ends a
 *			kernel
 *	cache=BYTES	of lines of ranges, replaced by a clock; default: of all lines
 *	link=RATE	bytes a second of the GPU's link, in each direction, with headers
 *	start=NS	of a kernel
 *	resident=N	warps of a multiprocessor at a time
 *	instructions=N	of a warp for a step
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <annex/detail/random.h>
#include <annex/log.h>
#include <annex/models/cxlssd.h>
#include "../../bench/figure.h"

/* An A100 (NVIDIA's white paper): multiprocessors, warp instructions of each in a second. */
#define PROCESSORS 108u
#define ISSUED (4 * 1.41e9)
#define LANES 32u
/*
 * Bytes of PCIe packets: the header of a request with a 64-bit address, with framing and CRC; the
 * same of a completion; the most data of a packet; the most that a drive asks for at once.
 */
#define REQUEST 24u
#define COMPLETION 20u
#define DATA_MAX 256u
#define READ_MAX 512u
/* Bytes of an entry of the submission queue and the completion queue (NVMe base spec). */
#define SQE 64u
#define CQE 16u

#define NONE UINT32_MAX

struct opts {
	uint64_t drives, latency, warps, steps, lanes, cache, write, link, start, resident,
		instructions;
	const char *lists;
};

/* struct drive - @s: its flash. @base: its time at which the kernels begin. */
struct drive {
	struct annex_cxlssd *s;
	uint64_t base;
};

/*
 * struct warp - A resident warp.
 * @at, @left: its next line, and how many follow.
 * @awaited: commands of its step that have not ended.
 * @next: another warp that waits for the same line, or NONE.
 */
struct warp {
	uint64_t at, left;
	uint32_t awaited, next;
};

enum stage { STEP, SENT, SERVED, ENDED };

/* struct event - @time: in nanoseconds. @line, @drive: of a command. */
struct event {
	double time;
	uint64_t line;
	uint32_t warp, drive;
	enum stage stage;
};

enum { ABSENT, COMING, PRESENT, USED };

/*
 * struct bench - @events: a heap. @free_at: time at which each multiprocessor can issue again.
 * @to_gpu, @from_gpu: time at which each direction of the link is idle.
 * @lines: states of lines. @waiting: of a line that is COMING, the first warp that waits for it.
 * @kept: the cached lines, in the order of the clock. @hand: the clock's.
 * @next: the next range of @lists.
 * @begun: warps of this kernel that have begun. @running: places of warps that are not idle yet.
 */
struct bench {
	struct opts o;
	struct drive *drives;
	uint64_t page, pages, commands;
	struct event *events;
	size_t n_events, room;
	double now, to_gpu, from_gpu, free_at[PROCESSORS];
	struct warp *warps;
	uint8_t *lines;
	uint32_t *waiting;
	uint64_t *kept, n_kept, hand, n_lines;
	uint64_t *lists, *lists_end, *next;
	uint64_t begun, running, seed;
	char *buf;
};

static void *some(size_t n, size_t bytes)
{
	void *p = calloc(n ? n : 1, bytes);

	if (!p)
		bench_fail("warps: no memory");
	return p;
}

static void push(struct bench *b, struct event e)
{
	size_t i = b->n_events++;

	if (i == b->room) {
		b->room = 2 * b->room + 1024;
		b->events = realloc(b->events, b->room * sizeof(*b->events));
		if (!b->events)
			bench_fail("warps: no memory");
	}
	for (; i && b->events[(i - 1) / 2].time > e.time; i = (i - 1) / 2)
		b->events[i] = b->events[(i - 1) / 2];
	b->events[i] = e;
}

static struct event pop(struct bench *b)
{
	struct event first = b->events[0], last = b->events[--b->n_events];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < b->n_events) {
		if (child + 1 < b->n_events && b->events[child + 1].time < b->events[child].time)
			child++;
		if (last.time <= b->events[child].time)
			break;
		b->events[i] = b->events[child];
		i = child;
	}
	b->events[i] = last;
	return first;
}

/* Bytes of packets with @bytes of data, of which each has at most @most and a header. */
static double packets(uint64_t bytes, uint64_t most, uint64_t header)
{
	const uint64_t n = (bytes + most - 1) / most;

	return (double)(bytes + n * header);
}

/* Move @bytes over a direction of the link, once that is idle. Return: when they have arrived. */
static double carry(const struct bench *b, double *idle, double bytes)
{
	*idle = (*idle > b->now ? *idle : b->now) + bytes * 1e9 / (double)b->o.link;
	return *idle;
}

static void send(struct bench *b, uint32_t warp, uint64_t line, double at)
{
	const uint32_t drive = (uint32_t)(b->commands++ % b->o.drives);

	push(b, (struct event){at, line, warp, drive, SENT});
}

/*
 * A command leaves: a doorbell, and the entry that the drive reads. Return: when it has that, and
 * the data that it writes.
 */
static double leave(struct bench *b)
{
	const double bytes = packets(4, 4, REQUEST) + packets(SQE, DATA_MAX, COMPLETION);
	const double data = b->o.write ? packets(b->page, DATA_MAX, COMPLETION) : 0;
	const uint64_t reads = 1 + (b->o.write ? (b->page + READ_MAX - 1) / READ_MAX : 0);

	carry(b, &b->to_gpu, (double)(reads * REQUEST));
	return carry(b, &b->from_gpu, bytes + data);
}

/* Return: when the GPU has the data of a command, and its completion. */
static double arrive(struct bench *b)
{
	const double data = b->o.write ? 0 : packets(b->page, DATA_MAX, REQUEST);

	return carry(b, &b->to_gpu, data + packets(CQE, DATA_MAX, REQUEST));
}

/*
 * Serve a command that a drive has at @at. Its pages have their numbers in them, which a read finds
 * again. Return: when it has been served.
 */
static double serve(struct bench *b, const struct event *e, double at)
{
	struct drive *d = &b->drives[e->drive];
	struct annex_cxlssd_time t = {.now = d->base + (uint64_t)at};
	uint64_t page = e->line % b->pages;
	int err;

	memcpy(b->buf, &page, sizeof(page));
	if (b->o.write)
		err = annex_cxlssd_write_blocks(d->s, page * b->page, b->buf, b->page, &t);
	else
		err = annex_cxlssd_read_blocks(d->s, page * b->page, b->buf, b->page, &t);
	if (err || memcmp(b->buf, &page, sizeof(page)))
		bench_fail("warps: page %llu: %s", (unsigned long long)page,
			   err ? strerror(-err) : "wrong data");
	return (double)(t.done - d->base + b->o.latency);
}

/* Cache a line. The clock evicts the next line that was not used since its hand passed. */
static void keep(struct bench *b, uint64_t line)
{
	const uint64_t most = b->o.cache ? b->o.cache / b->page : b->n_lines;
	uint64_t i;

	b->lines[line] = PRESENT;
	if (b->n_kept < most) {
		b->kept[b->n_kept++] = line;
		return;
	}
	while (b->lines[b->kept[b->hand]] == USED) {
		b->lines[b->kept[b->hand]] = PRESENT;
		b->hand = (b->hand + 1) % most;
	}
	i = b->hand;
	b->lines[b->kept[i]] = ABSENT;
	b->kept[i] = line;
	b->hand = (i + 1) % most;
}

/* Issue the instructions of a step. Return: when they have been issued. */
static double issue(struct bench *b, uint32_t warp)
{
	double *at = &b->free_at[warp % PROCESSORS];

	*at = (*at > b->now ? *at : b->now) + (double)b->o.instructions * 1e9 / ISSUED;
	return *at;
}

/* Begin the kernel's next warp in the place of one that has ended. Return: whether there is one. */
static bool begin(struct bench *b, uint32_t warp)
{
	struct warp *w = &b->warps[warp];

	if (!b->o.lists) {
		if (b->begun == b->o.warps)
			return false;
		w->left = b->o.steps;
	} else {
		if (b->next == b->lists_end || !b->next[1])
			return false;
		w->at = b->next[0] / b->page;
		w->left = (b->next[0] + b->next[1] - 1) / b->page - w->at + 1;
		b->next += 2;
	}
	b->begun++;
	return true;
}

/* The next step of a warp: it sends commands, or waits for the command of another warp. */
static void step(struct bench *b, uint32_t warp)
{
	struct warp *w = &b->warps[warp];
	double at;

	if (!w->left && !begin(b, warp)) {
		b->running--;
		return;
	}
	at = issue(b, warp);
	w->left--;
	if (!b->o.lists) {
		w->awaited = (uint32_t)b->o.lanes;
		for (uint32_t i = 0; i < b->o.lanes; i++)
			send(b, warp, annex_random(&b->seed), at);
		return;
	}
	switch (b->lines[w->at]) {
	case ABSENT:
		b->lines[w->at] = COMING;
		b->waiting[w->at] = NONE;
		w->awaited = 1;
		send(b, warp, w->at, at);
		break;
	case COMING:
		w->next = b->waiting[w->at];
		b->waiting[w->at] = warp;
		break;
	default:
		b->lines[w->at] = USED;
		push(b, (struct event){at, 0, warp, 0, STEP});
	}
	w->at++;
}

/* A command has ended: its warp continues, and so do all that wait for its line. */
static void end(struct bench *b, const struct event *e)
{
	uint32_t next = b->o.lists ? b->waiting[e->line] : NONE;

	if (b->o.lists)
		keep(b, e->line);
	if (!--b->warps[e->warp].awaited)
		push(b, (struct event){b->now, 0, e->warp, 0, STEP});
	for (; next != NONE; next = b->warps[next].next)
		push(b, (struct event){b->now, 0, next, 0, STEP});
}

static void run_kernel(struct bench *b)
{
	const uint32_t places = (uint32_t)b->o.resident * PROCESSORS;

	b->now += (double)b->o.start;
	b->begun = 0;
	b->running = places;
	for (uint32_t i = 0; i < places; i++) {
		b->warps[i].left = 0;
		push(b, (struct event){b->now, 0, i, 0, STEP});
	}
	while (b->n_events) {
		struct event e = pop(b);

		b->now = e.time;
		switch (e.stage) {
		case STEP:
			step(b, e.warp);
			break;
		case SENT: /* Commands arrive at the drives in this order. */
			e.time = serve(b, &e, leave(b));
			e.stage = SERVED;
			push(b, e);
			break;
		case SERVED:
			e.time = arrive(b);
			e.stage = ENDED;
			push(b, e);
			break;
		case ENDED:
			end(b, &e);
		}
	}
	if (b->running)
		bench_fail("warps: %llu warps did not end", (unsigned long long)b->running);
}

/* Give each page of a drive its number. */
static void fill(struct bench *b, struct drive *d)
{
	const uint64_t most = 256;
	char *pages = some(most, b->page);
	struct annex_cxlssd_time t = {0};

	for (uint64_t page = 0; page < b->pages; page += most) {
		const uint64_t n = b->pages - page < most ? b->pages - page : most;
		int err;

		for (uint64_t i = 0; i < n; i++) {
			uint64_t number = page + i;

			memcpy(pages + i * b->page, &number, sizeof(number));
		}
		err = annex_cxlssd_write_blocks(d->s, page * b->page, pages, n * b->page, &t);
		if (err)
			bench_fail("warps: page %llu: %s", (unsigned long long)page,
				   strerror(-err));
		t.now = t.done;
	}
	d->base = t.done;
	free(pages);
}

static void open_drives(struct bench *b, const char *uri)
{
	b->drives = some(b->o.drives, sizeof(*b->drives));
	for (uint64_t i = 0; i < b->o.drives; i++) {
		if (annex_cxlssd_open(uri, &b->drives[i].s))
			bench_fail("warps: %s", annex_last_error());
		b->page = annex_cxlssd_page(b->drives[i].s);
		b->pages = annex_cxlssd_bytes(b->drives[i].s) / b->page;
		if (!b->o.write)
			fill(b, &b->drives[i]);
	}
	b->buf = some(1, b->page);
}

/* Read the ranges, and find how many lines they have. */
static void read_lists(struct bench *b)
{
	FILE *f = fopen(b->o.lists, "rb");
	long bytes = -1;

	if (f && !fseek(f, 0, SEEK_END))
		bytes = ftell(f);
	if (bytes < 16 || bytes % 16 || fseek(f, 0, SEEK_SET))
		bench_fail("warps: %s: not pairs of numbers", b->o.lists);
	b->lists = some((size_t)bytes, 1);
	if (fread(b->lists, (size_t)bytes, 1, f) != 1)
		bench_fail("warps: %s: cannot be read", b->o.lists);
	fclose(f);
	b->next = b->lists;
	b->lists_end = b->lists + bytes / 8;
	for (const uint64_t *l = b->lists; l < b->lists_end; l += 2)
		if ((l[0] + l[1]) / b->page >= b->n_lines)
			b->n_lines = (l[0] + l[1]) / b->page + 1;
	b->lines = some(b->n_lines, 1);
	b->waiting = some(b->n_lines, sizeof(*b->waiting));
	b->kept = some(b->n_lines, sizeof(*b->kept));
}

static void read_option(struct opts *o, const char *text)
{
	const struct {
		const char *name;
		uint64_t *to, least, most;
	} all[] = {
		{"drives", &o->drives, 1, 1024},
		{"latency", &o->latency, 0, 1000000000},
		{"warps", &o->warps, 1, 1 << 30},
		{"steps", &o->steps, 1, 1 << 30},
		{"lanes", &o->lanes, 1, LANES},
		{"cache", &o->cache, 1 << 16, UINT64_MAX},
		{"write", &o->write, 0, 1},
		{"link", &o->link, 1000000, 1000000000000},
		{"start", &o->start, 0, 1000000000},
		{"resident", &o->resident, 1, 64},
		{"instructions", &o->instructions, 0, 1000000},
	};
	const size_t len = strcspn(text, "=");
	char *rest;

	if (!strncmp(text, "lists=", 6)) {
		o->lists = text + 6;
		return;
	}
	for (unsigned int i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (strlen(all[i].name) != len || strncmp(text, all[i].name, len) || !text[len])
			continue;
		*all[i].to = strtoull(text + len + 1, &rest, 10);
		if (*rest || *all[i].to < all[i].least || *all[i].to > all[i].most)
			bench_fail("warps: %s: %llu to %llu", text,
				   (unsigned long long)all[i].least,
				   (unsigned long long)all[i].most);
		return;
	}
	bench_fail("warps: %s: no such option", text);
}

int main(int argc, char **argv)
{
	struct bench b = {.o = {.drives = 1,
				.warps = 1,
				.steps = 1,
				.lanes = 1,
				.link = 1000000000000,
				.resident = 64}};

	if (argc < 2)
		bench_fail("usage: warps URI [OPTION=VALUE]...");
	for (int i = 2; i < argc; i++)
		read_option(&b.o, argv[i]);
	b.warps = some(PROCESSORS * b.o.resident, sizeof(*b.warps));
	open_drives(&b, argv[1]);
	if (b.o.lists)
		read_lists(&b);
	do {
		run_kernel(&b);
		if (b.o.lists)
			b.next += 2;
	} while (b.next < b.lists_end);
	printf("{\"time_s\": %.9g, \"commands\": %llu}\n", b.now / 1e9,
	       (unsigned long long)b.commands);
	for (uint64_t i = 0; i < b.o.drives; i++)
		annex_cxlssd_close(b.drives[i].s);
	free(b.drives);
	free(b.warps);
	free(b.events);
	free(b.lines);
	free(b.waiting);
	free(b.kept);
	free(b.lists);
	free(b.buf);
	return 0;
}
