// SPDX-License-Identifier: MIT
/*
 * Vectors of floats.
 */
#include "fuzz.h"

#define OP(name, f6, f3, sig, wide)                                                                \
	{                                                                                          \
		name, RV_V(f6, f3), G_VFP, rv_emit_vector, sig, V_FLOAT | (wide)                   \
	}
#define VF(name, f6) OP(name ".vf", f6, OPFVF, "11f", 0)
#define TWO(name, f6) OP(name ".vv", f6, OPFVV, "11v", 0), VF(name, f6)
#define CMP_V(name, f6) OP(name ".vv", f6, OPFVV, "m1v", 0)
#define CMP_F(name, f6) OP(name ".vf", f6, OPFVF, "m1f", 0)
#define MAC(name, f6) OP(name ".vv", f6, OPFVV, "11va", 0), OP(name ".vf", f6, OPFVF, "11fa", 0)
#define WIDEN(name, f6) OP(name ".vv", f6, OPFVV, "21v", 0), OP(name ".vf", f6, OPFVF, "21f", 0)
#define WIDE(name, f6) OP(name ".wv", f6, OPFVV, "22v", 0), OP(name ".wf", f6, OPFVF, "22f", 0)
#define WMAC(name, f6) OP(name ".vv", f6, OPFVV, "21va", 0), OP(name ".vf", f6, OPFVF, "21fa", 0)
/* Of one operand: the other field says which. */
#define ONE(name, f6, vs1, sig, wide)                                                              \
	{                                                                                          \
		name, RV_V(f6, OPFVV) | (vs1) << 15, G_VFP, rv_emit_vector, sig, V_FLOAT | (wide)  \
	}
#define CVT(name, vs1, sig, wide) ONE(name, 0x12, vs1, sig, wide)

const struct rv_op rv_ops_vfloat[] = {
	TWO("vfadd", 0x00),
	TWO("vfsub", 0x02),
	TWO("vfmin", 0x04),
	TWO("vfmax", 0x06),
	TWO("vfsgnj", 0x08),
	TWO("vfsgnjn", 0x09),
	TWO("vfsgnjx", 0x0a),
	OP("vfmerge.vfm", 0x17, OPFVF, "11fc", 0),
	OP("vfmv.v.f", 0x17, OPFVF, "10fn", 0),
	CMP_V("vmfeq", 0x18),
	CMP_F("vmfeq", 0x18),
	CMP_V("vmfle", 0x19),
	CMP_F("vmfle", 0x19),
	CMP_V("vmflt", 0x1b),
	CMP_F("vmflt", 0x1b),
	CMP_V("vmfne", 0x1c),
	CMP_F("vmfne", 0x1c),
	CMP_F("vmfgt", 0x1d),
	CMP_F("vmfge", 0x1f),
	TWO("vfdiv", 0x20),
	VF("vfrdiv", 0x21),
	TWO("vfmul", 0x24),
	VF("vfrsub", 0x27),
	MAC("vfmadd", 0x28),
	MAC("vfnmadd", 0x29),
	MAC("vfmsub", 0x2a),
	MAC("vfnmsub", 0x2b),
	MAC("vfmacc", 0x2c),
	MAC("vfnmacc", 0x2d),
	MAC("vfmsac", 0x2e),
	MAC("vfnmsac", 0x2f),
	WIDEN("vfwadd", 0x30),
	WIDEN("vfwsub", 0x32),
	WIDE("vfwadd", 0x34),
	WIDE("vfwsub", 0x36),
	WIDEN("vfwmul", 0x38),
	WMAC("vfwmacc", 0x3c),
	WMAC("vfwnmacc", 0x3d),
	WMAC("vfwmsac", 0x3e),
	WMAC("vfwnmsac", 0x3f),
	CVT("vfcvt.xu.f.v", 0, "11-", 0),
	CVT("vfcvt.x.f.v", 1, "11-", 0),
	CVT("vfcvt.f.xu.v", 2, "11-", V_FROM_INT),
	CVT("vfcvt.f.x.v", 3, "11-", V_FROM_INT),
	CVT("vfcvt.rtz.xu.f.v", 6, "11-", 0),
	CVT("vfcvt.rtz.x.f.v", 7, "11-", 0),
	CVT("vfwcvt.xu.f.v", 8, "21-", 0),
	CVT("vfwcvt.x.f.v", 9, "21-", 0),
	CVT("vfwcvt.f.xu.v", 10, "21-", V_FROM_INT | V_FROM_BYTES),
	CVT("vfwcvt.f.x.v", 11, "21-", V_FROM_INT | V_FROM_BYTES),
	CVT("vfwcvt.f.f.v", 12, "21-", 0),
	CVT("vfwcvt.rtz.xu.f.v", 14, "21-", 0),
	CVT("vfwcvt.rtz.x.f.v", 15, "21-", 0),
	CVT("vfncvt.xu.f.w", 16, "12-", V_FROM_BYTES),
	CVT("vfncvt.x.f.w", 17, "12-", V_FROM_BYTES),
	CVT("vfncvt.f.xu.w", 18, "12-", V_FROM_INT),
	CVT("vfncvt.f.x.w", 19, "12-", V_FROM_INT),
	CVT("vfncvt.f.f.w", 20, "12-", 0),
	CVT("vfncvt.rod.f.f.w", 21, "12-", 0),
	CVT("vfncvt.rtz.xu.f.w", 22, "12-", V_FROM_BYTES),
	CVT("vfncvt.rtz.x.f.w", 23, "12-", V_FROM_BYTES),
	ONE("vfsqrt.v", 0x13, 0, "11-", 0),
	ONE("vfrsqrt7.v", 0x13, 4, "11-", 0),
	ONE("vfrec7.v", 0x13, 5, "11-", 0),
	ONE("vfclass.v", 0x13, 16, "11-", 0),
	{NULL, 0, 0, NULL, NULL, 0},
};
