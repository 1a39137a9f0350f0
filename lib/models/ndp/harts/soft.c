// SPDX-License-Identifier: MIT
/*
 * Arithmetic on unpacked numbers, and the one place where results are rounded.
 *
 * A finite number is m * 2^e. Intermediate results have more bits than any precision, of which the
 * last one also stands for all that is below it (it is sticky), which is enough to round once.
 */
#include "soft.h"

typedef unsigned __int128 wide;

enum kind { ZERO, FINITE, INF, QNAN, SNAN };

struct number {
	enum kind kind;
	bool sign;
	int e;
	uint64_t m;
};

/* Bits of a precision with the hidden one, and the exponent of its smallest normal number. */
static inline int digits(enum rv_fmt fmt)
{
	return fmt == RV_D ? 53 : fmt == RV_S ? 24 : 11;
}

static inline int least(enum rv_fmt fmt)
{
	return fmt == RV_D ? -1022 : fmt == RV_S ? -126 : -14;
}

static inline uint64_t fraction_mask(enum rv_fmt fmt)
{
	return (1ull << (digits(fmt) - 1)) - 1;
}

static inline uint64_t sign_bit(enum rv_fmt fmt)
{
	return 1ull << (rv_fmt_bits(fmt) - 1);
}

/* Exponent field of infinity, in place. */
static inline uint64_t infinity(enum rv_fmt fmt)
{
	return (sign_bit(fmt) - 1) & ~fraction_mask(fmt);
}

static inline uint64_t with_sign(enum rv_fmt fmt, bool sign, uint64_t bits)
{
	return bits | (sign ? sign_bit(fmt) : 0);
}

static struct number unpack(enum rv_fmt fmt, uint64_t a)
{
	uint64_t mask = fraction_mask(fmt), fraction = a & mask;
	int p = digits(fmt), field = (int)((a & (sign_bit(fmt) - 1)) >> (p - 1));
	struct number n = {.sign = a & sign_bit(fmt), .e = least(fmt) - (p - 1), .m = fraction};

	if ((a & infinity(fmt)) == infinity(fmt)) {
		n.kind = !fraction ? INF : fraction >> (p - 2) ? QNAN : SNAN;
	} else if (field) {
		n.kind = FINITE;
		n.m |= mask + 1;
		n.e += field - 1;
	} else {
		n.kind = fraction ? FINITE : ZERO;
	}
	return n;
}

static inline int width(wide m)
{
	uint64_t high = (uint64_t)(m >> 64), low = (uint64_t)m;

	return high ? 128 - __builtin_clzll(high) : low ? 64 - __builtin_clzll(low) : 0;
}

/* To the right by @n; what falls off sticks to the last bit. */
static wide shift_sticky(wide m, int n)
{
	if (n >= 128)
		return m != 0;
	return n > 0 ? m >> n | ((m & (((wide)1 << n) - 1)) != 0) : m;
}

/* @m without its last @n bits (1 to 127), rounded. */
static wide round_off(wide m, int n, bool sign, enum rv_round rm, bool *inexact)
{
	wide rest = m & (((wide)1 << n) - 1), half = (wide)1 << (n - 1), kept = m >> n;
	bool odd = kept & 1, up = false;

	*inexact = rest != 0;
	switch (rm) {
	case RV_RNE:
		up = rest > half || (rest == half && odd);
		break;
	case RV_RTZ:
		break;
	case RV_RDN:
		up = rest && sign;
		break;
	case RV_RUP:
		up = rest && !sign;
		break;
	case RV_RMM:
		up = rest >= half;
		break;
	case RV_ROD:
		up = rest && !odd;
		break;
	}
	return kept + up;
}

static uint64_t overflow(enum rv_fmt fmt, bool sign, enum rv_round rm, uint8_t *flags)
{
	bool to_infinity = rm == RV_RNE || rm == RV_RMM || (rm == RV_RDN && sign) ||
			   (rm == RV_RUP && !sign);

	*flags |= RV_OF | RV_NX;
	return with_sign(fmt, sign, infinity(fmt) - !to_infinity);
}

/*
 * Round @m * 2^@e, not zero, to @fmt. A result is tiny if it is below the smallest normal number
 * when rounded with an unbounded exponent.
 */
static uint64_t pack(enum rv_fmt fmt, bool sign, int e, wide m, enum rv_round rm, uint8_t *flags)
{
	int p = digits(fmt), top = e + width(m) - 1, last = top - (p - 1), shift;
	int lowest = least(fmt) - (p - 1);
	bool tiny = top < least(fmt), inexact = false;

	if (top == least(fmt) - 1 && last > e) {
		bool ignored;

		tiny = round_off(m, last - e, sign, rm, &ignored) >> p == 0;
	}
	if (last < lowest)
		last = lowest;
	shift = last - e;
	if (shift > 126) {
		m = shift_sticky(m, shift - 126);
		shift = 126;
	}
	m = shift > 0 ? round_off(m, shift, sign, rm, &inexact) : m << -shift;
	if (m >> p) {
		m >>= 1;
		last++;
	}
	if (last + p - 1 > -least(fmt) + 1)
		return overflow(fmt, sign, rm, flags);
	if (inexact)
		*flags |= tiny ? RV_UF | RV_NX : RV_NX;
	/* The hidden bit adds one to the exponent field. */
	return with_sign(fmt, sign, ((uint64_t)(last - lowest) << (p - 1)) + (uint64_t)m);
}

static uint64_t invalid(enum rv_fmt fmt, uint8_t *flags)
{
	*flags |= RV_NV;
	return rv_fmt_nan(fmt);
}

static inline bool is_nan(const struct number *n)
{
	return n->kind >= QNAN;
}

static uint64_t nan_of(enum rv_fmt fmt, bool signaling, uint8_t *flags)
{
	return signaling ? invalid(fmt, flags) : rv_fmt_nan(fmt);
}

/* The first bit of a sum's operands: room for a carry above, and for what sticks below. */
#define SUM_TOP 125

/* The sum of two that are not zero: the lower one is shifted under the higher one. */
static uint64_t sum(enum rv_fmt fmt, bool xs, int xe, wide x, bool ys, int ye, wide y,
		    enum rv_round rm, uint8_t *flags)
{
	int up = SUM_TOP + 1 - width(x);
	wide m;

	x <<= up;
	xe -= up;
	up = SUM_TOP + 1 - width(y);
	y <<= up;
	ye -= up;
	if (ye > xe || (ye == xe && y > x)) {
		wide m_ = x;
		int e_ = xe;
		bool s_ = xs;

		x = y;
		xe = ye;
		xs = ys;
		y = m_;
		ye = e_;
		ys = s_;
	}
	y = shift_sticky(y, xe - ye);
	m = xs == ys ? x + y : x - y;
	return m ? pack(fmt, xs, xe, m, rm, flags) : with_sign(fmt, rm == RV_RDN, 0);
}

static uint64_t zero_sum(enum rv_fmt fmt, bool x, bool y, enum rv_round rm)
{
	return with_sign(fmt, x == y ? x : rm == RV_RDN, 0);
}

static uint64_t add(enum rv_fmt fmt, struct number x, struct number y, enum rv_round rm,
		    uint8_t *flags)
{
	if (is_nan(&x) || is_nan(&y))
		return nan_of(fmt, x.kind == SNAN || y.kind == SNAN, flags);
	if (x.kind == INF && y.kind == INF && x.sign != y.sign)
		return invalid(fmt, flags);
	if (x.kind == INF || y.kind == INF)
		return with_sign(fmt, x.kind == INF ? x.sign : y.sign, infinity(fmt));
	if (x.kind == ZERO && y.kind == ZERO)
		return zero_sum(fmt, x.sign, y.sign, rm);
	if (x.kind == ZERO)
		return pack(fmt, y.sign, y.e, y.m, rm, flags);
	if (y.kind == ZERO)
		return pack(fmt, x.sign, x.e, x.m, rm, flags);
	return sum(fmt, x.sign, x.e, x.m, y.sign, y.e, y.m, rm, flags);
}

uint64_t rv_soft_add(enum rv_fmt fmt, uint64_t a, uint64_t b, enum rv_round rm, uint8_t *flags)
{
	return add(fmt, unpack(fmt, a), unpack(fmt, b), rm, flags);
}

uint64_t rv_soft_sub(enum rv_fmt fmt, uint64_t a, uint64_t b, enum rv_round rm, uint8_t *flags)
{
	return add(fmt, unpack(fmt, a), unpack(fmt, b ^ sign_bit(fmt)), rm, flags);
}

uint64_t rv_soft_mul(enum rv_fmt fmt, uint64_t a, uint64_t b, enum rv_round rm, uint8_t *flags)
{
	struct number x = unpack(fmt, a), y = unpack(fmt, b);
	bool sign = x.sign != y.sign;

	if (is_nan(&x) || is_nan(&y))
		return nan_of(fmt, x.kind == SNAN || y.kind == SNAN, flags);
	if (x.kind == INF || y.kind == INF)
		return x.kind == ZERO || y.kind == ZERO ? invalid(fmt, flags)
							: with_sign(fmt, sign, infinity(fmt));
	if (x.kind == ZERO || y.kind == ZERO)
		return with_sign(fmt, sign, 0);
	return pack(fmt, sign, x.e + y.e, (wide)x.m * y.m, rm, flags);
}

uint64_t rv_soft_div(enum rv_fmt fmt, uint64_t a, uint64_t b, enum rv_round rm, uint8_t *flags)
{
	struct number x = unpack(fmt, a), y = unpack(fmt, b);
	bool sign = x.sign != y.sign;
	int xs, ys;
	wide over, m;

	if (is_nan(&x) || is_nan(&y))
		return nan_of(fmt, x.kind == SNAN || y.kind == SNAN, flags);
	if (x.kind == y.kind && x.kind != FINITE)
		return invalid(fmt, flags);
	if (x.kind == INF)
		return with_sign(fmt, sign, infinity(fmt));
	if (x.kind == ZERO || y.kind == INF)
		return with_sign(fmt, sign, 0);
	if (y.kind == ZERO) {
		*flags |= RV_DZ;
		return with_sign(fmt, sign, infinity(fmt));
	}
	/* Both from bit 63 on, so that the quotient has at least 63 bits. */
	xs = __builtin_clzll(x.m);
	ys = __builtin_clzll(y.m);
	over = (wide)(x.m << xs) << 63;
	m = over / (y.m << ys);
	m |= m * (y.m << ys) != over;
	return pack(fmt, sign, x.e - xs - 63 - (y.e - ys), m, rm, flags);
}

/* The root of @m, rounded down, its last bit sticky. */
static wide root(wide m)
{
	wide r = 0;

	for (int i = 63; i >= 0; i--) {
		wide next = r | (wide)1 << i;

		if (next * next <= m)
			r = next;
	}
	return r | (r * r != m);
}

uint64_t rv_soft_sqrt(enum rv_fmt fmt, uint64_t a, enum rv_round rm, uint8_t *flags)
{
	struct number x = unpack(fmt, a);
	int up;

	if (is_nan(&x))
		return nan_of(fmt, x.kind == SNAN, flags);
	if (x.kind == ZERO)
		return with_sign(fmt, x.sign, 0);
	if (x.sign)
		return invalid(fmt, flags);
	if (x.kind == INF)
		return infinity(fmt);
	/* 126 or 127 bits, such that the exponent is even. */
	up = 126 - width(x.m);
	up += (x.e - up) & 1;
	return pack(fmt, false, (x.e - up) / 2, root((wide)x.m << up), rm, flags);
}

uint64_t rv_soft_fma(enum rv_fmt fmt, uint64_t a, uint64_t b, uint64_t c, enum rv_round rm,
		     uint8_t *flags)
{
	struct number x = unpack(fmt, a), y = unpack(fmt, b), z = unpack(fmt, c);
	bool sign = x.sign != y.sign, none, snan;

	none = (x.kind == INF && y.kind == ZERO) || (x.kind == ZERO && y.kind == INF);
	snan = x.kind == SNAN || y.kind == SNAN || z.kind == SNAN;
	if (none)
		return invalid(fmt, flags);
	if (is_nan(&x) || is_nan(&y) || is_nan(&z))
		return nan_of(fmt, snan, flags);
	if (x.kind == INF || y.kind == INF)
		return z.kind == INF && z.sign != sign ? invalid(fmt, flags)
						       : with_sign(fmt, sign, infinity(fmt));
	if (z.kind == INF)
		return with_sign(fmt, z.sign, infinity(fmt));
	if (x.kind == ZERO || y.kind == ZERO)
		return z.kind == ZERO ? zero_sum(fmt, sign, z.sign, rm)
				      : pack(fmt, z.sign, z.e, z.m, rm, flags);
	if (z.kind == ZERO)
		return pack(fmt, sign, x.e + y.e, (wide)x.m * y.m, rm, flags);
	return sum(fmt, sign, x.e + y.e, (wide)x.m * y.m, z.sign, z.e, z.m, rm, flags);
}

/* An order of all numbers but NaNs, in which both zeros are the same. */
static int64_t rank(enum rv_fmt fmt, uint64_t a)
{
	int64_t size = (int64_t)(a & (sign_bit(fmt) - 1));

	return a & sign_bit(fmt) ? -size : size;
}

static bool unordered(enum rv_fmt fmt, uint64_t a, uint64_t b, bool quiet, uint8_t *flags)
{
	struct number x = unpack(fmt, a), y = unpack(fmt, b);

	if (!is_nan(&x) && !is_nan(&y))
		return false;
	if (!quiet || x.kind == SNAN || y.kind == SNAN)
		*flags |= RV_NV;
	return true;
}

bool rv_soft_eq(enum rv_fmt fmt, uint64_t a, uint64_t b, uint8_t *flags)
{
	return !unordered(fmt, a, b, true, flags) && rank(fmt, a) == rank(fmt, b);
}

bool rv_soft_lt(enum rv_fmt fmt, uint64_t a, uint64_t b, uint8_t *flags)
{
	return !unordered(fmt, a, b, false, flags) && rank(fmt, a) < rank(fmt, b);
}

bool rv_soft_le(enum rv_fmt fmt, uint64_t a, uint64_t b, uint8_t *flags)
{
	return !unordered(fmt, a, b, false, flags) && rank(fmt, a) <= rank(fmt, b);
}

/* @less: of the two, the lesser; -0 is less than +0. */
static uint64_t choose(enum rv_fmt fmt, uint64_t a, uint64_t b, bool less, uint8_t *flags)
{
	struct number x = unpack(fmt, a), y = unpack(fmt, b);
	uint64_t mask = sign_bit(fmt) * 2 - 1;
	bool first;

	if (x.kind == SNAN || y.kind == SNAN)
		*flags |= RV_NV;
	if (is_nan(&x))
		return is_nan(&y) ? rv_fmt_nan(fmt) : b & mask;
	if (is_nan(&y))
		return a & mask;
	first = rank(fmt, a) == rank(fmt, b) ? x.sign : rank(fmt, a) < rank(fmt, b);
	return (first == less ? a : b) & mask;
}

uint64_t rv_soft_min(enum rv_fmt fmt, uint64_t a, uint64_t b, uint8_t *flags)
{
	return choose(fmt, a, b, true, flags);
}

uint64_t rv_soft_max(enum rv_fmt fmt, uint64_t a, uint64_t b, uint8_t *flags)
{
	return choose(fmt, a, b, false, flags);
}

enum rv_class rv_soft_class(enum rv_fmt fmt, uint64_t a)
{
	struct number x = unpack(fmt, a);
	bool normal = x.m >> (digits(fmt) - 1);

	switch (x.kind) {
	case ZERO:
		return x.sign ? RV_CLASS_NEG_ZERO : RV_CLASS_ZERO;
	case INF:
		return x.sign ? RV_CLASS_NEG_INF : RV_CLASS_INF;
	case QNAN:
		return RV_CLASS_QNAN;
	case SNAN:
		return RV_CLASS_SNAN;
	default:
		break;
	}
	if (x.sign)
		return normal ? RV_CLASS_NEG_NORMAL : RV_CLASS_NEG_SUBNORMAL;
	return normal ? RV_CLASS_NORMAL : RV_CLASS_SUBNORMAL;
}

uint64_t rv_soft_convert(enum rv_fmt from, enum rv_fmt to, uint64_t a, enum rv_round rm,
			 uint8_t *flags)
{
	struct number x = unpack(from, a);

	if (is_nan(&x))
		return nan_of(to, x.kind == SNAN, flags);
	if (x.kind == INF)
		return with_sign(to, x.sign, infinity(to));
	if (x.kind == ZERO)
		return with_sign(to, x.sign, 0);
	return pack(to, x.sign, x.e, x.m, rm, flags);
}

uint64_t rv_soft_to_int(enum rv_fmt fmt, uint64_t a, unsigned int bits, bool is_signed,
			enum rv_round rm, uint8_t *flags)
{
	uint64_t most = UINT64_MAX >> (64 - bits + is_signed), lowest = is_signed ? ~most : 0;
	struct number x = unpack(fmt, a);
	bool inexact = false;
	wide m = x.m;

	if (x.kind == ZERO)
		return 0;
	if (x.kind >= INF || x.e > 64) {
		*flags |= RV_NV;
		return x.sign && !is_nan(&x) ? lowest : most;
	}
	if (x.e >= 0)
		m <<= x.e;
	else
		m = x.e < -64 ? round_off(1, 2, x.sign, rm, &inexact)
			      : round_off(m, -x.e, x.sign, rm, &inexact);
	if (x.sign ? m > (wide)(uint64_t)(0 - lowest) : m > most) {
		*flags |= RV_NV;
		return x.sign ? lowest : most;
	}
	if (inexact)
		*flags |= RV_NX;
	return x.sign ? 0 - (uint64_t)m : (uint64_t)m;
}

uint64_t rv_soft_from_int(enum rv_fmt fmt, uint64_t value, bool is_signed, enum rv_round rm,
			  uint8_t *flags)
{
	bool sign = is_signed && value >> 63;

	return value ? pack(fmt, sign, 0, sign ? 0 - value : value, rm, flags) : 0;
}
