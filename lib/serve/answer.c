// SPDX-License-Identifier: MIT
#include <sys/socket.h>
#include "server.h"

struct annex_serve_message serve_answer_to(const struct annex_serve_message *m, int result)
{
	return (struct annex_serve_message){.magic = ANNEX_SERVE_MAGIC,
					    .version = ANNEX_SERVE_VERSION,
					    .ask = m->ask,
					    .result = result};
}

int serve_answer(const struct peer *p, const struct annex_serve_message *m, int result)
{
	struct annex_serve_message a = serve_answer_to(m, result);

	return packet_send(p->sock, &a, sizeof(a), NULL, 0, MSG_DONTWAIT);
}
