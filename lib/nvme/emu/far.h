/* SPDX-License-Identifier: MIT */
/*
 * Far data: in memory that no load or store of this process reaches, and that a copier does
 * (struct annex_copier).
 *
 * It goes through a buffer of limited size. A request with such data waits until there is room for
 * it there; then what is to be moved for many requests is moved by one call. All of this is under
 * the async mutex, and what has begun to move has moved when the mutex is let go.
 */
#ifndef ANNEX_EMU_FAR_H
#define ANNEX_EMU_FAR_H

#include "req.h"
#include "state.h"

/* A range comes or goes, the first and the last with the buffer. With every queue held. */
int annex_emu_far_get(struct annex_emu *emu, const struct annex_copier *copier);
void annex_emu_far_put(struct annex_emu *emu);
void annex_emu_far_close(struct annex_emu *emu);

/* With the async mutex held: a request begins, or its data has come from the file. */
void annex_emu_far_start(struct annex_emu *emu, struct emu_req *req);
void annex_emu_far_arrived(struct annex_emu *emu, struct emu_req *req);
/* Move what is to be moved, and have those go on that waited for room. */
void annex_emu_far_run(struct annex_emu *emu);
/* A request needs its room no longer; or, while it still waits, none. */
void annex_emu_far_release(struct annex_emu *emu, struct emu_req *req);
void annex_emu_far_forget(struct annex_emu *emu, struct emu_req *req);

#endif
