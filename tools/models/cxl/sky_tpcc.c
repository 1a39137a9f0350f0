// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Transactions like TPC-C's on tables in memory: new orders and payments. A lane serves whole
 * districts with their customers and orders, and touches other districts only by additions to
 * stock, warehouses and customers, so the order of transactions does not matter. Nearly every line
 * that misses the cache is written.
 */
#include <errno.h>
#include <stdlib.h>
#include "lane.h"
#include "sky.h"

#define DISTRICTS 96u /* at scale 1 */
#define PER_WAREHOUSE 12u
#define STOCK 60u /* rows of stock for each district of a warehouse */
#define CUSTOMERS 114u
#define TRANSACTIONS 27u /* of each district */
#define ORDERS TRANSACTIONS
#define LINES 8u /* most lines of an order; the least is LINES / 2 */

/*
 * Rows, in words of 32 bits. Their sizes: warehouse 1 line, district 1, item 1/2, stock 1,
 * customer 4, order 1/2, order line 1/2, payment 1/2. Money is in cents; sums wrap.
 */
enum warehouse_row { W_TAX, W_PAID, W_WORDS = 16 };
enum district_row { D_TAX, D_PAID, D_ORDERS, D_PAYMENTS, D_WORDS = 16 };
enum item_row { I_PRICE, I_NAME, I_WORDS = 8 };
enum stock_row { S_QUANTITY, S_SOLD, S_ORDERS, S_REMOTE, S_INFO, S_WORDS = 16 };
enum customer_row { C_DISCOUNT, C_BALANCE, C_PAID, C_PAYMENTS, C_NAME, C_WORDS = 64 };
enum order_row { O_CUSTOMER, O_LINES, O_TOTAL, O_WORDS = 8 };
enum line_row { L_ITEM, L_QUANTITY, L_AMOUNT, L_SUPPLY, L_INFO, L_WORDS = 8 };
enum payment_row { P_CUSTOMER, P_AMOUNT, P_DISTRICT, P_WORDS = 8 };

/* struct tpcc - Tables in @data. */
struct tpcc {
	uint32_t districts;
	uint32_t nwarehouses;
	uint64_t warehouse;
	uint64_t district;
	uint64_t item;
	uint64_t stock;
	uint64_t customer;
	uint64_t order;
	uint64_t line;
	uint64_t payment;
};

static uint64_t table(uint64_t *end, uint64_t rows, uint32_t words)
{
	uint64_t at = *end;

	*end += (rows * words * 4 + SKY_LINE - 1) / SKY_LINE * SKY_LINE;
	return at;
}

static void fill_rows(struct work *w, uint64_t at, uint64_t rows, uint32_t words, uint32_t filled,
		      uint64_t *state)
{
	uint32_t *row = (uint32_t *)(w->data + at);

	for (uint64_t i = 0; i < rows; i++, row += words)
		for (uint32_t j = 0; j < filled; j++)
			row[j] = sky_below(state, 10000);
}

static int make(struct work *w)
{
	struct tpcc *t = sky_own(w, sizeof(*t));
	uint64_t end = 0, state = w->seed ^ 0x79cc, d;
	int err;

	if (!t)
		return -ENOMEM;
	d = t->districts = sky_scaled(w, DISTRICTS, 1);
	t->nwarehouses = (t->districts + PER_WAREHOUSE - 1) / PER_WAREHOUSE;
	t->warehouse = table(&end, t->nwarehouses, W_WORDS);
	t->district = table(&end, d, D_WORDS);
	t->item = table(&end, STOCK * PER_WAREHOUSE, I_WORDS);
	t->stock = table(&end, d * STOCK, S_WORDS);
	t->customer = table(&end, d * CUSTOMERS, C_WORDS);
	t->order = table(&end, d * ORDERS, O_WORDS);
	t->line = table(&end, d * ORDERS * LINES, L_WORDS);
	t->payment = table(&end, d * TRANSACTIONS, P_WORDS);
	err = work_alloc(w, end);
	if (err)
		return err;
	fill_rows(w, t->warehouse, t->nwarehouses, W_WORDS, W_TAX + 1, &state);
	fill_rows(w, t->district, d, D_WORDS, D_TAX + 1, &state);
	fill_rows(w, t->item, STOCK * PER_WAREHOUSE, I_WORDS, I_WORDS, &state);
	fill_rows(w, t->stock, d * STOCK, S_WORDS, S_WORDS, &state);
	fill_rows(w, t->customer, d * CUSTOMERS, C_WORDS, C_WORDS, &state);
	return 0;
}

/* struct deal - A transaction, drawn by the terminal of @district. */
struct deal {
	uint32_t district;
	uint32_t customer; /* row */
	uint32_t amount;   /* 0: an order, else a payment */
	uint32_t lines;
	uint32_t item[LINES];
	uint32_t stock[LINES]; /* row */
	uint32_t quantity[LINES];
};

/* Rows of stock of a warehouse: the last one may have fewer districts. */
static uint32_t items_of(const struct tpcc *t, uint32_t warehouse)
{
	uint32_t left = t->districts - warehouse * PER_WAREHOUSE;

	return STOCK * (left < PER_WAREHOUSE ? left : PER_WAREHOUSE);
}

/* A skewed row number, like TPC-C's NURand. */
static uint32_t uneven(uint64_t *state, uint32_t n)
{
	const uint32_t one = sky_below(state, n), other = sky_below(state, n);

	return (one | other) % n;
}

/* One payment in 7 is for a customer of another district, one line in 100 of another warehouse. */
static void draw(const struct tpcc *t, struct deal *d, uint64_t *state)
{
	uint32_t home = d->district;

	d->amount = sky_below(state, 2) ? 1 + sky_below(state, 5000) : 0;
	if (d->amount && !sky_below(state, 7))
		home = sky_below(state, t->districts);
	d->customer = home * CUSTOMERS + uneven(state, CUSTOMERS);
	d->lines = LINES / 2 + sky_below(state, LINES / 2 + 1);
	for (uint32_t i = 0; i < d->lines; i++) {
		uint32_t supply = d->district / PER_WAREHOUSE;

		if (!sky_below(state, 100))
			supply = sky_below(state, t->nwarehouses);
		d->item[i] = uneven(state, items_of(t, supply));
		d->stock[i] = supply * PER_WAREHOUSE * STOCK + d->item[i];
		d->quantity[i] = 1 + sky_below(state, 10);
	}
}

static uint64_t first_deal(const struct work *w, uint32_t district)
{
	uint64_t state = w->seed + district;

	return annex_random(&state);
}

static uint64_t at_row(uint64_t at, uint64_t row, uint32_t words, uint32_t word)
{
	return at + (row * words + word) * 4;
}

/* Add to a row that only this lane changes. Return: its value before. */
static uint32_t add(struct lane *l, uint64_t at, uint32_t n)
{
	uint32_t old = lane_load32(l, at);

	lane_store32(l, at, old + n);
	lane_ops(l, 2);
	return old;
}

static uint32_t reserve(const struct tpcc *t, struct lane *l, const struct deal *d, uint32_t i)
{
	uint64_t stock = at_row(t->stock, d->stock[i], S_WORDS, 0);

	lane_add32(l, stock + S_QUANTITY * 4, -d->quantity[i]);
	lane_add32(l, stock + S_SOLD * 4, d->quantity[i]);
	lane_add32(l, stock + S_ORDERS * 4, 1);
	if (d->stock[i] / (STOCK * PER_WAREHOUSE) != d->district / PER_WAREHOUSE)
		lane_add32(l, stock + S_REMOTE * 4, 1);
	lane_ops(l, 16);
	return lane_load32(l, stock + (S_INFO + d->district % PER_WAREHOUSE) * 4);
}

static uint32_t order_line(const struct tpcc *t, struct lane *l, const struct deal *d, uint32_t i,
			   uint64_t at)
{
	uint64_t item = at_row(t->item, d->item[i], I_WORDS, 0);
	uint32_t amount = lane_load32(l, item + I_PRICE * 4) * d->quantity[i];
	uint32_t info = lane_load32(l, item + I_NAME * 4) ^ reserve(t, l, d, i);

	lane_store32(l, at + L_ITEM * 4, d->item[i]);
	lane_store32(l, at + L_QUANTITY * 4, d->quantity[i]);
	lane_store32(l, at + L_AMOUNT * 4, amount);
	lane_store32(l, at + L_SUPPLY * 4, d->stock[i]);
	lane_store32(l, at + L_INFO * 4, info);
	lane_ops(l, 20);
	return amount;
}

/* Prices are in cents, taxes and discounts in parts of 2^16. */
static uint32_t charge(uint32_t sum, uint32_t discount, uint32_t tax)
{
	uint64_t net = sum * (uint64_t)((1 << 16) - discount) >> 16;

	return net * ((1 << 16) + tax) >> 16;
}

static void new_order(const struct tpcc *t, struct lane *l, const struct deal *d)
{
	uint64_t home = at_row(t->district, d->district, D_WORDS, 0);
	uint64_t n = d->district * ORDERS + add(l, home + D_ORDERS * 4, 1);
	uint64_t order = at_row(t->order, n, O_WORDS, 0);
	uint32_t tax = lane_load32(l, home + D_TAX * 4), discount, sum = 0;

	tax += lane_load32(l, at_row(t->warehouse, d->district / PER_WAREHOUSE, W_WORDS, W_TAX));
	discount = lane_load32(l, at_row(t->customer, d->customer, C_WORDS, C_DISCOUNT));
	for (uint32_t i = 0; i < d->lines; i++)
		sum += order_line(t, l, d, i, at_row(t->line, n * LINES + i, L_WORDS, 0));
	lane_store32(l, order + O_CUSTOMER * 4, d->customer);
	lane_store32(l, order + O_LINES * 4, d->lines);
	lane_store32(l, order + O_TOTAL * 4, charge(sum, discount, tax));
	lane_ops(l, 60);
}

static void pay(const struct tpcc *t, struct lane *l, const struct deal *d)
{
	uint64_t home = at_row(t->district, d->district, D_WORDS, 0);
	uint64_t customer = at_row(t->customer, d->customer, C_WORDS, 0);
	uint64_t n = d->district * TRANSACTIONS + add(l, home + D_PAYMENTS * 4, 1);
	uint64_t payment = at_row(t->payment, n, P_WORDS, 0);

	lane_add32(l, at_row(t->warehouse, d->district / PER_WAREHOUSE, W_WORDS, W_PAID),
		   d->amount);
	add(l, home + D_PAID * 4, d->amount);
	lane_add32(l, customer + C_BALANCE * 4, -d->amount);
	lane_add32(l, customer + C_PAID * 4, d->amount);
	lane_add32(l, customer + C_PAYMENTS * 4, 1);
	lane_store32(l, payment + P_CUSTOMER * 4,
		     d->customer ^ lane_load32(l, customer + C_NAME * 4));
	lane_store32(l, payment + P_AMOUNT * 4, d->amount);
	lane_store32(l, payment + P_DISTRICT * 4, d->district);
	lane_ops(l, 60);
}

static void run(struct work *w, struct lane *l, unsigned int id)
{
	const struct tpcc *t = w->own;

	for (uint32_t district = id; district < t->districts; district += w->lanes) {
		struct deal d = {.district = district};
		uint64_t state = first_deal(w, district);

		for (uint32_t i = 0; i < TRANSACTIONS; i++) {
			draw(t, &d, &state);
			lane_ops(l, 40);
			if (d.amount)
				pay(t, l, &d);
			else
				new_order(t, l, &d);
		}
	}
}

static uint32_t *row_of(char *data, uint64_t at, uint64_t row, uint32_t words)
{
	return (uint32_t *)(data + at) + row * words;
}

static void plain_order(const struct tpcc *t, char *data, const struct deal *d)
{
	uint32_t *home = row_of(data, t->district, d->district, D_WORDS), sum = 0;
	uint32_t warehouse = d->district / PER_WAREHOUSE;
	uint64_t n = d->district * ORDERS + home[D_ORDERS]++;
	uint32_t *order = row_of(data, t->order, n, O_WORDS);

	for (uint32_t i = 0; i < d->lines; i++) {
		const uint32_t *item = row_of(data, t->item, d->item[i], I_WORDS);
		uint32_t *stock = row_of(data, t->stock, d->stock[i], S_WORDS);
		uint32_t *line = row_of(data, t->line, n * LINES + i, L_WORDS);

		stock[S_QUANTITY] -= d->quantity[i];
		stock[S_SOLD] += d->quantity[i];
		stock[S_ORDERS]++;
		stock[S_REMOTE] += d->stock[i] / (STOCK * PER_WAREHOUSE) != warehouse;
		line[L_ITEM] = d->item[i];
		line[L_QUANTITY] = d->quantity[i];
		line[L_AMOUNT] = d->quantity[i] * item[I_PRICE];
		line[L_SUPPLY] = d->stock[i];
		line[L_INFO] = item[I_NAME] ^ stock[S_INFO + d->district % PER_WAREHOUSE];
		sum += line[L_AMOUNT];
	}
	order[O_CUSTOMER] = d->customer;
	order[O_LINES] = d->lines;
	order[O_TOTAL] =
		charge(sum, row_of(data, t->customer, d->customer, C_WORDS)[C_DISCOUNT],
		       home[D_TAX] + row_of(data, t->warehouse, warehouse, W_WORDS)[W_TAX]);
}

static void plain_pay(const struct tpcc *t, char *data, const struct deal *d)
{
	uint32_t *home = row_of(data, t->district, d->district, D_WORDS);
	uint32_t *customer = row_of(data, t->customer, d->customer, C_WORDS);
	uint64_t n = d->district * TRANSACTIONS + home[D_PAYMENTS]++;
	uint32_t *payment = row_of(data, t->payment, n, P_WORDS);

	row_of(data, t->warehouse, d->district / PER_WAREHOUSE, W_WORDS)[W_PAID] += d->amount;
	home[D_PAID] += d->amount;
	customer[C_BALANCE] -= d->amount;
	customer[C_PAID] += d->amount;
	customer[C_PAYMENTS]++;
	payment[P_CUSTOMER] = d->customer ^ customer[C_NAME];
	payment[P_AMOUNT] = d->amount;
	payment[P_DISTRICT] = d->district;
}

static bool check(const struct work *w)
{
	const struct tpcc *t = w->own;
	char *data = sky_copy(w);
	bool same;

	if (!data)
		return false;
	for (uint32_t district = 0; district < t->districts; district++) {
		struct deal d = {.district = district};
		uint64_t state = first_deal(w, district);

		for (uint32_t i = 0; i < TRANSACTIONS; i++) {
			draw(t, &d, &state);
			if (d.amount)
				plain_pay(t, data, &d);
			else
				plain_order(t, data, &d);
		}
	}
	same = sky_same(w, 0, data, w->bytes);
	free(data);
	return same;
}

/* At scale 1: 3.8 MiB, 12,300 lines are missed, 43 % of the requests to memory write. */
const struct work_kind work_tpcc = {
	.name = "tpcc",
	.summary = "transactions: new orders and payments of districts",
	.set = "skybyte",
	.work = 264.1,
	.group = "",
	.make = make,
	.run = run,
	.check = check,
};
