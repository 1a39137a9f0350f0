// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cfd - Two-dimensional Euler equations on an unstructured mesh, after Rodinia's euler3d: 8 MiB of
 * cells with four faces each. Sampled: one time step of all cells. Cells have random numbers within
 * windows of CFD_WINDOW, so that neighbours are near, but not adjacent.
 */
#include "gpu.h"

#define CFD_WIDTH 256u
#define CFD_WINDOW 1024u
#define CFD_WALL UINT32_MAX
#define CFD_BYTES (3 * 16 + 4 * 4 + 4 * 8 + 4 + 4) /* of a cell */

/* Density, momentum in two directions, energy. */
struct cfd_state {
	float v[4];
};

struct cfd_plan {
	uint64_t n;
	uint64_t state;
	uint64_t old;
	uint64_t flux;
	uint64_t neighbour; /* four of each cell; CFD_WALL: a wall */
	uint64_t normal;    /* four of each cell, of two floats */
	uint64_t area;
	uint64_t factor;
};

static void cfd_plan(void *plan, double scale, uint64_t *end)
{
	struct cfd_plan *p = plan;

	p->n = gpu_scaled(scale, GPU_BYTES / CFD_BYTES, 16);
	p->state = gpu_array(end, p->n * 16);
	p->old = gpu_array(end, p->n * 16);
	p->flux = gpu_array(end, p->n * 16);
	p->neighbour = gpu_array(end, p->n * 16);
	p->normal = gpu_array(end, p->n * 32);
	p->area = gpu_array(end, p->n * 4);
	p->factor = gpu_array(end, p->n * 4);
}

/* cfd_number() - Assign a number to each cell of the grid. */
static void cfd_number(uint32_t *number, uint64_t n, uint64_t *seed)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t window = i / CFD_WINDOW * CFD_WINDOW;
		uint64_t j = window + annex_random(seed) % (i - window + 1);

		number[i] = number[j];
		number[j] = (uint32_t)i;
	}
}

static void cfd_faces(const struct cfd_plan *p, char *data, const uint32_t *number, uint64_t *seed)
{
	static const float outward[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};

	for (uint64_t g = 0; g < p->n; g++) {
		uint32_t *to = (uint32_t *)(data + p->neighbour) + 4ull * number[g];
		float *normal = (float *)(data + p->normal) + 8ull * number[g];

		to[0] = g % CFD_WIDTH ? number[g - 1] : CFD_WALL;
		to[1] = (g + 1) % CFD_WIDTH && g + 1 < p->n ? number[g + 1] : CFD_WALL;
		to[2] = g >= CFD_WIDTH ? number[g - CFD_WIDTH] : CFD_WALL;
		to[3] = g + CFD_WIDTH < p->n ? number[g + CFD_WIDTH] : CFD_WALL;
		for (unsigned int i = 0; i < 8; i++)
			normal[i] = outward[i / 2][i % 2] + gpu_random(seed) * 0.125f;
	}
}

static void cfd_fill(const void *plan, char *data, uint64_t *seed)
{
	const struct cfd_plan *p = plan;
	struct cfd_state *state = (struct cfd_state *)(data + p->state);
	float *area = (float *)(data + p->area);
	uint32_t *number = (uint32_t *)(data + p->factor); /* until the end of this function */

	cfd_number(number, p->n, seed);
	cfd_faces(p, data, number, seed);
	memset(number, 0, p->n * 4);
	for (uint64_t i = 0; i < p->n; i++) {
		state[i].v[0] = 1.5f + gpu_random(seed) * 0.25f;
		state[i].v[1] = gpu_random(seed) * 0.25f;
		state[i].v[2] = gpu_random(seed) * 0.25f;
		state[i].v[3] = 3 + gpu_random(seed) * 0.25f;
		area[i] = 1 + gpu_random(seed) * 0.25f;
	}
}

static float cfd_pressure(const struct cfd_state *s)
{
	float square = gpu_mul(s->v[1], s->v[1]) + gpu_mul(s->v[2], s->v[2]);

	return gpu_mul(0.4f, s->v[3] - 0.5f * square / s->v[0]);
}

/* cfd_factor() - The time step divided by the area; the speed of sound is an upper bound. */
static float cfd_factor(const struct cfd_state *s, float area)
{
	float speed = (gpu_mul(s->v[1], s->v[1]) + gpu_mul(s->v[2], s->v[2])) / s->v[0];

	return 0.25f / gpu_mul(area, 2 + speed + cfd_pressure(s));
}

/* cfd_add() - Add half of the flux out of @s through a face. */
static void cfd_add(const struct cfd_state *s, struct gpu_pair normal, struct cfd_state *flux)
{
	float pressure = cfd_pressure(s);
	float flow = (gpu_mul(s->v[1], normal.x) + gpu_mul(s->v[2], normal.y)) / s->v[0];
	float half = 0.5f * flow;

	flux->v[0] += gpu_mul(half, s->v[0]);
	flux->v[1] += gpu_mul(half, s->v[1]) + gpu_mul(0.5f * pressure, normal.x);
	flux->v[2] += gpu_mul(half, s->v[2]) + gpu_mul(0.5f * pressure, normal.y);
	flux->v[3] += gpu_mul(half, s->v[3] + pressure);
}

/* cfd_face() - Add the flux out of a cell through a face; @other: NULL: a wall. */
static void cfd_face(const struct cfd_state *own, const struct cfd_state *other,
		     struct gpu_pair normal, struct cfd_state *flux)
{
	if (!other) {
		float pressure = cfd_pressure(own);

		flux->v[1] += gpu_mul(pressure, normal.x);
		flux->v[2] += gpu_mul(pressure, normal.y);
		return;
	}
	cfd_add(own, normal, flux);
	cfd_add(other, normal, flux);
	for (unsigned int i = 0; i < 4; i++)
		flux->v[i] += gpu_mul(0.5f, own->v[i] - other->v[i]);
}

static struct cfd_state cfd_load(struct lane *l, uint64_t at)
{
	struct gpu_pair low = gpu_load_pair(l, at);
	struct gpu_pair high = gpu_load_pair(l, at + 8);

	return (struct cfd_state){{low.x, low.y, high.x, high.y}};
}

static void cfd_store(struct lane *l, uint64_t at, const struct cfd_state *s)
{
	for (unsigned int i = 0; i < 4; i++)
		lane_storef(l, at + i * 4ull, s->v[i]);
}

static void cfd_prepare(const struct cfd_plan *p, struct lane *l, uint64_t cell)
{
	struct cfd_state s = cfd_load(l, p->state + cell * 16);
	float area = lane_loadf(l, p->area + cell * 4);

	lane_ops(l, 6);
	cfd_store(l, p->old + cell * 16, &s);
	lane_storef(l, p->factor + cell * 4, cfd_factor(&s, area));
}

static void cfd_flux(const struct cfd_plan *p, struct lane *l, uint64_t cell)
{
	struct cfd_state own = cfd_load(l, p->state + cell * 16);
	struct cfd_state flux = {{0}}, other;
	uint64_t pair = 0;

	for (unsigned int face = 0; face < 4; face++) {
		struct gpu_pair normal = gpu_load_pair(l, p->normal + cell * 32 + face * 8ull);
		uint32_t to;

		if (face % 2 == 0)
			pair = lane_load64(l, p->neighbour + cell * 16 + face * 4ull);
		to = (uint32_t)(face % 2 ? pair >> 32 : pair);
		if (to != CFD_WALL)
			other = cfd_load(l, p->state + to * 16ull);
		lane_ops(l, 8);
		cfd_face(&own, to == CFD_WALL ? NULL : &other, normal, &flux);
	}
	cfd_store(l, p->flux + cell * 16, &flux);
}

static void cfd_step(const struct cfd_plan *p, struct lane *l, uint64_t cell)
{
	struct cfd_state s = cfd_load(l, p->old + cell * 16);
	struct cfd_state flux = cfd_load(l, p->flux + cell * 16);
	float factor = lane_loadf(l, p->factor + cell * 4);

	lane_ops(l, 2);
	for (unsigned int i = 0; i < 4; i++)
		s.v[i] -= gpu_mul(factor, flux.v[i]);
	cfd_store(l, p->state + cell * 16, &s);
}

static void cfd_run(const void *plan, struct lane *l, unsigned int id, unsigned int lanes)
{
	const struct cfd_plan *p = plan;
	const struct gpu_part part = gpu_part(p->n, id, lanes);

	for (uint64_t cell = part.begin; cell < part.end; cell += part.step)
		cfd_prepare(p, l, cell);
	lane_barrier(l);
	for (uint64_t cell = part.begin; cell < part.end; cell += part.step)
		cfd_flux(p, l, cell);
	lane_barrier(l);
	for (uint64_t cell = part.begin; cell < part.end; cell += part.step)
		cfd_step(p, l, cell);
}

static bool cfd_same(const struct cfd_state *s, const char *at)
{
	for (unsigned int i = 0; i < 4; i++)
		if (!gpu_same(s->v[i], at + i * 4ull))
			return false;
	return true;
}

/* cfd_cell() - Whether a cell of @data is right. It shares the functions above with the lanes. */
static bool cfd_cell(const struct cfd_plan *p, const char *first, const char *data, uint64_t cell)
{
	const struct cfd_state *state = (const struct cfd_state *)(first + p->state);
	const uint32_t *to = (const uint32_t *)(first + p->neighbour) + cell * 4;
	const struct gpu_pair *normal = (const struct gpu_pair *)(first + p->normal) + cell * 4;
	float factor = cfd_factor(&state[cell], ((const float *)(first + p->area))[cell]);
	struct cfd_state new = state[cell], flux = {{0}};

	for (unsigned int face = 0; face < 4; face++)
		cfd_face(&state[cell], to[face] == CFD_WALL ? NULL : &state[to[face]], normal[face],
			 &flux);
	for (unsigned int i = 0; i < 4; i++)
		new.v[i] -= gpu_mul(factor, flux.v[i]);
	return cfd_same(&new, data + p->state + cell * 16) &&
	       cfd_same(&state[cell], data + p->old + cell * 16) &&
	       cfd_same(&flux, data + p->flux + cell * 16) &&
	       gpu_same(factor, data + p->factor + cell * 4);
}

static bool cfd_check(const void *plan, const char *first, const char *data)
{
	const struct cfd_plan *p = plan;

	for (uint64_t cell = 0; cell < p->n; cell++)
		if (!cfd_cell(p, first, data, cell))
			return false;
	return true;
}

GPU_KERNEL(cfd);
