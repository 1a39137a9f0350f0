/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The mappings of user space: doorbells, shadow doorbells, new host memory, controller memory. All
 * but host memory is inserted by faults and removed by a reset or a removal. Faults then insert a
 * dummy page, so that stores of an owner that has not noticed the reset have no effect.
 */
#ifndef ANNEX_VIEW_H
#define ANNEX_VIEW_H

struct annex_ctrl;
struct annex_map;
struct file;
struct vm_area_struct;

/* annex_view_open() - Let faults insert pages of the controller. */
void annex_view_open(struct annex_ctrl *ctrl);
/* annex_view_close() - Remove its pages from all page tables, until annex_view_open(). */
void annex_view_close(struct annex_ctrl *ctrl);
/* annex_view_end() - Remove the pages for good: the controller is gone. */
void annex_view_end(struct annex_ctrl *ctrl);
/* annex_view_forget() - Remove the pages of one mapping of controller memory. */
void annex_view_forget(struct annex_ctrl *ctrl, const struct annex_map *map);
int annex_view_mmap(struct file *file, struct vm_area_struct *vma);

#endif
