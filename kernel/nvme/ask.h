/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Questions that a file asks its controller by admin commands, from lists of commands that change
 * nothing. Errors as in the structures of their arguments (uapi/annex.h).
 */
#ifndef ANNEX_ASK_H
#define ANNEX_ASK_H

#include <uapi/annex.h>

struct annex_owner;

/* These copy data to the caller, whose page faults may take long, and take the lock themselves. */
long annex_ask_identify(struct annex_owner *owner, struct annex_ioc_identify *args);
long annex_ask_log(struct annex_owner *owner, struct annex_ioc_log *args);
/* annex_ask_feature() - Under the controller's lock. */
long annex_ask_feature(struct annex_owner *owner, struct annex_ioc_feature *args);

#endif
