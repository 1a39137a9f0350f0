/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What user space has in its page tables: doorbells, shadow doorbells, new host memory, controller
 * memory. All but host memory is put there by faults and taken away by a reset or a removal; then a
 * page that nothing reads takes its place, so that a store by an owner who does not know yet goes
 * nowhere.
 */
#ifndef ANNEX_VIEW_H
#define ANNEX_VIEW_H

struct annex_ctrl;
struct annex_map;
struct file;
struct vm_area_struct;

/* annex_view_open() - Faults show the controller from now on. */
void annex_view_open(struct annex_ctrl *ctrl);
/* annex_view_close() - No page table shows it any more, nor will until it is opened again. */
void annex_view_close(struct annex_ctrl *ctrl);
/* annex_view_end() - The same for ever: it is gone. */
void annex_view_end(struct annex_ctrl *ctrl);
/* annex_view_forget() - The same for one mapping of controller memory. */
void annex_view_forget(struct annex_ctrl *ctrl, const struct annex_map *map);
int annex_view_mmap(struct file *file, struct vm_area_struct *vma);

#endif
