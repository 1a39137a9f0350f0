// SPDX-License-Identifier: MIT
/*
 * Faults that the emulated controller is told to have.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "state.h"

struct name {
	const char *name;
	int value;
};

static const struct name kinds[] = {
	{"error", ANNEX_FAULT_ERROR},
	{"delay", ANNEX_FAULT_DELAY},
	{"lose", ANNEX_FAULT_LOSE},
	{"reorder", ANNEX_FAULT_REORDER},
	{"torn", ANNEX_FAULT_TORN},
	{"fatal", ANNEX_FAULT_FATAL},
	{"remove", ANNEX_FAULT_REMOVE},
	{"flip", ANNEX_FAULT_FLIP},
	{NULL, 0},
};

static const struct name opcodes[] = {
	{"read", ANNEX_NVM_READ},
	{"write", ANNEX_NVM_WRITE},
	{"flush", ANNEX_NVM_FLUSH},
	{"compare", ANNEX_NVM_COMPARE},
	{"zeroes", ANNEX_NVM_WRITE_ZEROES},
	{"dsm", ANNEX_NVM_DSM},
	{NULL, 0},
};

static bool find(const struct name *names, const char *text, int *value)
{
	for (; names->name; names++) {
		if (strcmp(names->name, text))
			continue;
		*value = names->value;
		return true;
	}
	return false;
}

/* Decimal with a suffix, or hexadecimal. */
static bool number(const char *text, uint64_t max, uint64_t *value)
{
	char *end;

	if (strncmp(text, "0x", 2))
		return !annex_parse_size(text, value) && *value <= max;
	errno = 0;
	*value = strtoull(text + 2, &end, 16);
	return !errno && text[2] && text[2] != '-' && text[2] != '+' && text[2] != ' ' && !*end &&
	       *value <= max;
}

static bool set_field(struct annex_fault *f, const char *key, const char *value)
{
	uint64_t v = 0;

	if (!strcmp(key, "op"))
		return find(opcodes, value, &f->opcode);
	if (!strcmp(key, "after"))
		return number(value, UINT64_MAX, &f->after);
	if (!strcmp(key, "count"))
		return number(value, UINT64_MAX, &f->count);
	if (!strcmp(key, "lba"))
		return number(value, UINT64_MAX, &f->lba);
	if (!strcmp(key, "blocks"))
		return number(value, UINT64_MAX, &f->blocks);
	if (!strcmp(key, "status") && number(value, ANNEX_SC_MASK, &v) && v) {
		f->status = (uint16_t)v;
		return true;
	}
	if (!strcmp(key, "us") && number(value, UINT32_MAX, &v)) {
		f->delay_us = (uint32_t)v;
		return true;
	}
	return false;
}

/* Whether an annex_dev_inject() makes sense. */
static int check(struct annex_fault *f)
{
	if ((unsigned int)f->kind > ANNEX_FAULT_FLIP || f->opcode < -1 || f->opcode > 255)
		return annex_fail(-EINVAL, "fault: no such kind or opcode");
	if (f->lba && !f->blocks)
		return annex_fail(-EINVAL, "fault: lba without blocks");
	if (f->blocks && f->lba > UINT64_MAX - f->blocks)
		return annex_fail(-EINVAL, "fault: range of blocks ends nowhere");
	if (f->delay_us && f->kind != ANNEX_FAULT_DELAY)
		return annex_fail(-EINVAL, "fault: a delay is for kind delay only");
	if (f->kind == ANNEX_FAULT_FLIP && f->opcode == -1)
		f->opcode = ANNEX_NVM_READ;
	if (f->kind == ANNEX_FAULT_FLIP && f->opcode != ANNEX_NVM_READ)
		return annex_fail(-EINVAL, "fault: flip is for reads only");
	if (f->status & ~ANNEX_SC_MASK)
		return annex_fail(-EINVAL, "fault: status is more than SCT and SC");
	if (!f->status)
		f->status = ANNEX_SC_INTERNAL;
	return 0;
}

int annex_fault_parse(const char *spec, struct annex_fault *out)
{
	char text[256], *item, *next;
	int kind;

	if (strlen(spec) >= sizeof(text))
		return annex_fail(-EINVAL, "fault: specification is too long");
	memcpy(text, spec, strlen(spec) + 1);
	next = strchr(text, ',');
	if (next)
		*next++ = '\0';
	if (!find(kinds, text, &kind))
		return annex_fail(-EINVAL,
				  "fault: unknown kind \"%s\": error, delay, lose, "
				  "reorder, torn, fatal, remove, flip",
				  text);
	*out = (struct annex_fault){.kind = (enum annex_fault_kind)kind,
				    .opcode = -1,
				    .count = 1,
				    .status = ANNEX_SC_INTERNAL};
	while ((item = next)) {
		char *eq = strchr(item, '=');

		next = strchr(item, ',');
		if (next)
			*next++ = '\0';
		if (!eq || (next && eq >= next - 1))
			return annex_fail(-EINVAL, "fault: \"%s\" is not FIELD=VALUE", item);
		*eq = '\0';
		if (!set_field(out, item, eq + 1))
			return annex_fail(-EINVAL, "fault: cannot use %s=%s", item, eq + 1);
	}
	return check(out);
}

int annex_emu_fault_add(struct annex_emu *emu, const struct annex_fault *fault)
{
	struct annex_fault f = *fault;
	struct emu_faults *faults = &emu->faults;
	int err = check(&f);

	if (err)
		return err;
	annex_emu_lock(&faults->lock);
	if (faults->n < EMU_FAULTS) {
		faults->v[faults->n].f = f;
		faults->v[faults->n].seen = 0;
		annex_atomic_store(&faults->n, faults->n + 1, ANNEX_RELEASE);
	} else {
		err = -ENOSPC;
	}
	annex_emu_unlock(&faults->lock);
	return err ? annex_fail(err, "fault: %u are active", EMU_FAULTS) : 0;
}

int annex_emu_inject(struct annex_ctrl *ctrl, const struct annex_fault *fault)
{
	return annex_emu_fault_add(annex_emu_of(ctrl), fault);
}

static bool matches(const struct annex_fault *f, const struct emu_cmd *cmd)
{
	uint64_t first;

	if (f->opcode >= 0 && f->opcode != cmd->sqe.opcode)
		return false;
	if (!f->blocks)
		return true;
	if (!cmd->ns || cmd->sqe.opcode == ANNEX_NVM_FLUSH || cmd->sqe.opcode == ANNEX_NVM_DSM)
		return false;
	first = cmd->pos >> cmd->ns->shift;
	return first < f->lba + f->blocks && f->lba <= first + cmd->cover;
}

static void apply(struct emu_cmd *cmd, const struct annex_fault *f)
{
	cmd->fault = (uint8_t)(f->kind + 1);
	cmd->fault_status = f->status;
	cmd->delay_us = f->delay_us;
	if (f->kind == ANNEX_FAULT_TORN)
		cmd->cover = 0;
}

/* Let the first active fault that matches a valid command strike it. Return: whether one did. */
bool annex_emu_fault_apply(struct annex_emu *emu, struct emu_cmd *cmd)
{
	struct emu_faults *faults = &emu->faults;
	bool struck = false;

	if (cmd->status)
		return false;
	annex_emu_lock(&faults->lock);
	for (uint32_t i = 0; !struck && i < faults->n; i++) {
		struct annex_fault *f = &faults->v[i].f;

		if (!matches(f, cmd) || faults->v[i].seen++ < f->after)
			continue;
		struck = true;
		apply(cmd, f);
		if (!f->count || faults->v[i].seen - f->after < f->count)
			continue;
		/* It has struck as often as it should. */
		annex_atomic_store(&faults->n, faults->n - 1, ANNEX_RELAXED);
		memmove(&faults->v[i], &faults->v[i + 1], (faults->n - i) * sizeof(faults->v[0]));
	}
	annex_emu_unlock(&faults->lock);
	return struck;
}
