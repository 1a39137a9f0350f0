/* SPDX-License-Identifier: MIT */
/*
 * The piece: bytes of other clients that the device has at most while a client that goes first is
 * active. Its size is the largest one at which the commands of clients that go first take at most
 * twice their time alone, as this device shows it.
 *
 * A command runs alone if nothing of other clients is in flight from its begin to its end. Each
 * PIECE_ROUND commands that ran beside others are compared with the last PIECE_ROUND that ran
 * alone, by the median and by the 99th percentile:
 *
 * - One of the two is more than twice its value alone: the size is halved.
 * - Both are at most 1.5 times their value alone: the size is doubled. Others add at most twice as
 *   much time by that where the time that they add is proportional to the size.
 * - Otherwise the size stays.
 *
 * A size that was too large is tried again after PIECE_CALM rounds, and so is twice the size where
 * the values stay between 1.5 times and twice, because some devices add less than twice as much for
 * twice the size. A trial ends as soon as enough commands of its round are late.
 *
 * Half the size adds about half the time. If a round at half the size is late still, and hardly
 * less (the median by less than a quarter; or the 99th percentile alone, with more than half as
 * many late commands), pieces are not the reason, but busy processors, for example: the size goes
 * back, and late rounds do not count for PIECE_CALM rounds.
 *
 * The size grows only in rounds in which others had as much in flight as they may. This file knows
 * no clock and no device.
 */
#ifndef ANNEX_SERVE_PIECE_H
#define ANNEX_SERVE_PIECE_H

#include <stdbool.h>
#include <stdint.h>

#define PIECE_ROUND 512u         /* commands that the law compares */
#define PIECE_CALM 16u           /* rounds */
#define PIECE_START (128u << 10) /* bytes, until the device has shown its times */
#define PIECE_ALONE 127u         /* one turn in so many runs alone: less than 1 % */
#define PIECE_ALONE_UNKNOWN 3u   /* likewise, until PIECE_ROUND commands ran alone */

/**
 * struct piece - The size of a piece, and the times that it follows from.
 * @bytes: the size, a multiple of @least.
 * @least: its lower bound, bytes.
 * @most: its upper bound, bytes.
 * @refused: the smallest size that was too large; 0: none in the last PIECE_CALM rounds.
 * @alone: times of the last commands that ran alone, ns; a ring.
 * @nalone: times written to @alone so far.
 * @mark: the median and the 99th percentile of @alone when the round began, ns; and the commands of
 *	this round that took more than 1.5 times and more than twice that.
 * @beside: times of the commands of this round, which ran beside others, ns.
 * @n: their number.
 * @full: of these, commands beside which others had as much in flight as they may.
 * @calm: rounds in a row that left the size as it was.
 * @last: how the size changed before this round.
 * @before: HALVED: by how much the median of the round before was late, ns; 0: it was not.
 * @late: HALVED: commands that were late by the 99th percentile then.
 * @excused: late rounds do not count.
 * @turns: turns beside others since the last one that was to run alone.
 */
struct piece {
	uint64_t bytes, least, most, refused;
	uint64_t alone[PIECE_ROUND], beside[PIECE_ROUND];
	uint64_t nalone;
	struct mark {
		uint64_t ns;
		unsigned int longer, late;
	} mark[2];
	unsigned int n, full, calm;
	enum piece_last { KEPT, DOUBLED, HALVED } last;
	uint64_t before;
	unsigned int late;
	bool excused;
	unsigned int turns;
};

/* serve_piece_init() - Begin with PIECE_START, between @block, or 4 KiB, and the device's largest
 * command. */
void serve_piece_init(struct piece *p, uint64_t block, uint64_t most);

/* serve_piece_alone() - A command that ran alone took @ns. */
void serve_piece_alone(struct piece *p, uint64_t ns);

/* serve_piece_beside() - A command that ran beside others took @ns. @full: see struct piece. */
void serve_piece_beside(struct piece *p, bool full, uint64_t ns);

/* serve_piece_turn() - A client that goes first has a turn while others have commands in flight.
 * Return: whether its commands are to run alone. */
bool serve_piece_turn(struct piece *p);

#endif
