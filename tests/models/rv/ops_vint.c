// SPDX-License-Identifier: MIT
/*
 * Vectors of integers, and of fixed-point numbers.
 */
#include "fuzz.h"

#define OP(name, f6, f3, group, sig, wide)                                                         \
	{                                                                                          \
		name, RV_V(f6, f3), group, rv_emit_vector, sig, wide                               \
	}
#define VV(name, f6) OP(name ".vv", f6, OPIVV, G_VINT, "11v", 0)
#define VX(name, f6) OP(name ".vx", f6, OPIVX, G_VINT, "11x", 0)
#define VI(name, f6) OP(name ".vi", f6, OPIVI, G_VINT, "11i", 0)
#define ALL(name, f6) VV(name, f6), VX(name, f6), VI(name, f6)
#define TWO(name, f6) VV(name, f6), VX(name, f6)
#define CMP_V(name, f6) OP(name ".vv", f6, OPIVV, G_VINT, "m1v", 0)
#define CMP_X(name, f6) OP(name ".vx", f6, OPIVX, G_VINT, "m1x", 0)
#define CMP_I(name, f6) OP(name ".vi", f6, OPIVI, G_VINT, "m1i", 0)
#define NARROW(name, f6, group, wide)                                                              \
	OP(name ".wv", f6, OPIVV, group, "12v", wide),                                             \
		OP(name ".wx", f6, OPIVX, group, "12x", wide),                                     \
		OP(name ".wi", f6, OPIVI, group, "12i", wide)
/* With the operands of multiplication. */
#define MUL(name, f6)                                                                              \
	OP(name ".vv", f6, OPMVV, G_VINT, "11v", 0), OP(name ".vx", f6, OPMVX, G_VINT, "11x", 0)
#define MAC(name, f6)                                                                              \
	OP(name ".vv", f6, OPMVV, G_VINT, "11va", 0), OP(name ".vx", f6, OPMVX, G_VINT, "11xa", 0)
#define WIDEN(name, f6)                                                                            \
	OP(name ".vv", f6, OPMVV, G_VINT, "21v", 0), OP(name ".vx", f6, OPMVX, G_VINT, "21x", 0)
#define WIDE(name, f6)                                                                             \
	OP(name ".wv", f6, OPMVV, G_VINT, "22v", 0), OP(name ".wx", f6, OPMVX, G_VINT, "22x", 0)
#define FIX_V(name, f6, f3) OP(name ".vv", f6, f3, G_VFIX, "11v", V_FIXED)
#define FIX_X(name, f6, f3) OP(name ".vx", f6, f3, G_VFIX, "11x", V_FIXED)
#define FIX_I(name, f6) OP(name ".vi", f6, OPIVI, G_VFIX, "11i", V_FIXED)
#define FIX(name, f6) FIX_V(name, f6, OPIVV), FIX_X(name, f6, OPIVX)
#define FIX_M(name, f6) FIX_V(name, f6, OPMVV), FIX_X(name, f6, OPMVX)

const struct rv_op rv_ops_vint[] = {
	ALL("vadd", 0x00),
	TWO("vsub", 0x02),
	VX("vrsub", 0x03),
	VI("vrsub", 0x03),
	TWO("vminu", 0x04),
	TWO("vmin", 0x05),
	TWO("vmaxu", 0x06),
	TWO("vmax", 0x07),
	ALL("vand", 0x09),
	ALL("vor", 0x0a),
	ALL("vxor", 0x0b),
	OP("vadc.vvm", 0x10, OPIVV, G_VINT, "11vc", 0),
	OP("vadc.vxm", 0x10, OPIVX, G_VINT, "11xc", 0),
	OP("vadc.vim", 0x10, OPIVI, G_VINT, "11ic", 0),
	OP("vmadc.vv", 0x11, OPIVV, G_VINT, "m1vC", 0),
	OP("vmadc.vx", 0x11, OPIVX, G_VINT, "m1xC", 0),
	OP("vmadc.vi", 0x11, OPIVI, G_VINT, "m1iC", 0),
	OP("vsbc.vvm", 0x12, OPIVV, G_VINT, "11vc", 0),
	OP("vsbc.vxm", 0x12, OPIVX, G_VINT, "11xc", 0),
	OP("vmsbc.vv", 0x13, OPIVV, G_VINT, "m1vC", 0),
	OP("vmsbc.vx", 0x13, OPIVX, G_VINT, "m1xC", 0),
	OP("vmerge.vvm", 0x17, OPIVV, G_VINT, "11vc", 0),
	OP("vmerge.vxm", 0x17, OPIVX, G_VINT, "11xc", 0),
	OP("vmerge.vim", 0x17, OPIVI, G_VINT, "11ic", 0),
	OP("vmv.v.v", 0x17, OPIVV, G_VINT, "10vn", 0),
	OP("vmv.v.x", 0x17, OPIVX, G_VINT, "10xn", 0),
	OP("vmv.v.i", 0x17, OPIVI, G_VINT, "10in", 0),
	CMP_V("vmseq", 0x18),
	CMP_X("vmseq", 0x18),
	CMP_I("vmseq", 0x18),
	CMP_V("vmsne", 0x19),
	CMP_X("vmsne", 0x19),
	CMP_I("vmsne", 0x19),
	CMP_V("vmsltu", 0x1a),
	CMP_X("vmsltu", 0x1a),
	CMP_V("vmslt", 0x1b),
	CMP_X("vmslt", 0x1b),
	CMP_V("vmsleu", 0x1c),
	CMP_X("vmsleu", 0x1c),
	CMP_I("vmsleu", 0x1c),
	CMP_V("vmsle", 0x1d),
	CMP_X("vmsle", 0x1d),
	CMP_I("vmsle", 0x1d),
	CMP_X("vmsgtu", 0x1e),
	CMP_I("vmsgtu", 0x1e),
	CMP_X("vmsgt", 0x1f),
	CMP_I("vmsgt", 0x1f),
	ALL("vsll", 0x25),
	ALL("vsrl", 0x28),
	ALL("vsra", 0x29),
	NARROW("vnsrl", 0x2c, G_VINT, 0),
	NARROW("vnsra", 0x2d, G_VINT, 0),
	MUL("vdivu", 0x20),
	MUL("vdiv", 0x21),
	MUL("vremu", 0x22),
	MUL("vrem", 0x23),
	MUL("vmulhu", 0x24),
	MUL("vmul", 0x25),
	MUL("vmulhsu", 0x26),
	MUL("vmulh", 0x27),
	MAC("vmadd", 0x29),
	MAC("vnmsub", 0x2b),
	MAC("vmacc", 0x2d),
	MAC("vnmsac", 0x2f),
	WIDEN("vwaddu", 0x30),
	WIDEN("vwadd", 0x31),
	WIDEN("vwsubu", 0x32),
	WIDEN("vwsub", 0x33),
	WIDE("vwaddu", 0x34),
	WIDE("vwadd", 0x35),
	WIDE("vwsubu", 0x36),
	WIDE("vwsub", 0x37),
	WIDEN("vwmulu", 0x38),
	WIDEN("vwmulsu", 0x3a),
	WIDEN("vwmul", 0x3b),
	OP("vwmaccu.vv", 0x3c, OPMVV, G_VINT, "21va", 0),
	OP("vwmaccu.vx", 0x3c, OPMVX, G_VINT, "21xa", 0),
	OP("vwmacc.vv", 0x3d, OPMVV, G_VINT, "21va", 0),
	OP("vwmacc.vx", 0x3d, OPMVX, G_VINT, "21xa", 0),
	OP("vwmaccus.vx", 0x3e, OPMVX, G_VINT, "21xa", 0),
	OP("vwmaccsu.vv", 0x3f, OPMVV, G_VINT, "21va", 0),
	OP("vwmaccsu.vx", 0x3f, OPMVX, G_VINT, "21xa", 0),
	FIX("vsaddu", 0x20),
	FIX_I("vsaddu", 0x20),
	FIX("vsadd", 0x21),
	FIX_I("vsadd", 0x21),
	FIX("vssubu", 0x22),
	FIX("vssub", 0x23),
	FIX("vsmul", 0x27),
	FIX("vssrl", 0x2a),
	FIX_I("vssrl", 0x2a),
	FIX("vssra", 0x2b),
	FIX_I("vssra", 0x2b),
	NARROW("vnclipu", 0x2e, G_VFIX, V_FIXED),
	NARROW("vnclip", 0x2f, G_VFIX, V_FIXED),
	FIX_M("vaaddu", 0x08),
	FIX_M("vaadd", 0x09),
	FIX_M("vasubu", 0x0a),
	FIX_M("vasub", 0x0b),
	{NULL, 0, 0, NULL, NULL, 0},
};
