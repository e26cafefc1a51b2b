"use strict";
// Converts elements between types, for the check of a kernel. It computes with the numbers of
// JavaScript, which are `f64`, and shares nothing with the kernels, which compute with bits.

/**
 * The floats: the bits of the exponent and of the mantissa, the bias, and the values that the type
 * lacks. `fn` has no infinity, `finite` no NaN either, and `fnuz` has one NaN and no -0.
 */
const FLOATS = {
  f64: [11, 52, 1023], f32: [8, 23, 127], f16: [5, 10, 15], bf16: [8, 7, 127],
  f8e5m2: [5, 2, 15], f8e4m3: [4, 3, 7], f8e3m4: [3, 4, 3], f8e4m3fn: [4, 3, 7, "fn"],
  f8e5m2fnuz: [5, 2, 16, "fnuz"], f8e4m3fnuz: [4, 3, 8, "fnuz"], f8e4m3b11fnuz: [4, 3, 11, "fnuz"],
  f6e2m3fn: [2, 3, 1, "finite"], f6e3m2fn: [3, 2, 3, "finite"], f4e2m1fn: [2, 1, 1, "finite"],
};

/** The number that the bits of a float stand for. */
function floatOf(type, bits) {
  if (type === "f8e8m0fnu") return bits === 255n ? NaN : 2 ** (Number(bits) - 127);
  const [exponentBits, mantissaBits, bias, lacks] = FLOATS[type];
  const sign = bits >> BigInt(exponentBits + mantissaBits) ? -1 : 1;
  const exponent = Number((bits >> BigInt(mantissaBits)) & ((1n << BigInt(exponentBits)) - 1n));
  const mantissa = Number(bits & ((1n << BigInt(mantissaBits)) - 1n));
  const last = exponent === 2 ** exponentBits - 1;
  if (!lacks && last) return mantissa ? sign * NaN : sign * Infinity;
  if (lacks === "fn" && last && mantissa === 2 ** mantissaBits - 1) return NaN;
  if (lacks === "fnuz" && sign < 0 && !exponent && !mantissa) return NaN;
  const scale = exponent ? 2 ** mantissaBits + mantissa : mantissa;
  const power = Math.max(exponent, 1) - bias - mantissaBits;
  return sign * scale * 2 ** power;
}

/** The sign bit of a float, which a NaN has too. */
function signOf(type, bits) {
  return type === "f8e8m0fnu" ? 0n : bits >> BigInt(FLOATS[type][0] + FLOATS[type][1]);
}

const double = new DataView(new ArrayBuffer(8));

/** Rounds a number of at least 0 to an integer, ties to even. */
function toEven(value) {
  const low = Math.floor(value);
  const rest = value - low;
  return rest > 0.5 || (rest === 0.5 && low % 2 === 1) ? low + 1 : low;
}

/** The exponent of the greatest power of two that is at most `value`, which is above 0. */
function exponentOf(value) {
  let exponent = Math.floor(Math.log2(value));
  while (2 ** exponent > value) exponent -= 1;
  while (2 ** (exponent + 1) <= value) exponent += 1;
  return exponent;
}

/** The bits of the float that is nearest to `value`. `negative` is the sign of zeros and NaNs. */
function bitsOfFloat(type, value, negative) {
  if (type === "f8e8m0fnu") {
    if (!(value > 0) || value === Infinity) return 255n;
    let exponent = exponentOf(value);
    // Numbers between the two least powers become the greater one.
    if (value / 2 ** exponent >= (exponent === -127 ? 1 + 2 ** -52 : 1.5)) exponent += 1;
    return exponent > 127 ? 255n : BigInt(Math.max(exponent + 127, 0));
  }
  const [exponentBits, mantissaBits, bias, lacks] = FLOATS[type];
  const sign = BigInt(negative) << BigInt(exponentBits + mantissaBits);
  const top = (1n << BigInt(exponentBits)) - 1n;
  const infinity = top << BigInt(mantissaBits);
  if (Number.isNaN(value)) {
    if (lacks === "finite" || lacks === "fnuz") return 1n << BigInt(exponentBits + mantissaBits);
    if (lacks === "fn") return sign | (infinity | ((1n << BigInt(mantissaBits)) - 1n));
    return sign | infinity | (1n << BigInt(mantissaBits - 1));
  }
  const size = Math.abs(value);
  const least = 1 - bias;
  let bits;
  if (size === Infinity) {
    bits = 1n << 64n;
  } else if (type === "f64") {
    double.setFloat64(0, size);
    return sign | double.getBigUint64(0);
  } else {
    const exponent = size ? Math.max(exponentOf(size), least) : least;
    // Both steps by powers of two are exact.
    const units = toEven(size / 2 ** exponent * 2 ** mantissaBits);
    // A unit more than the greatest mantissa goes into the exponent, as in the bits.
    bits = (BigInt(exponent - least) << BigInt(mantissaBits)) + BigInt(units);
  }
  const greatest = lacks === "fn" ? infinity + (1n << BigInt(mantissaBits)) - 2n
    : lacks ? infinity + (1n << BigInt(mantissaBits)) - 1n : infinity - 1n;
  if (bits > greatest) {
    if (!lacks) return sign | infinity;
    if (lacks === "finite") return sign | greatest;
    return bitsOfFloat(type, NaN, negative);
  }
  return lacks === "fnuz" && bits === 0n ? 0n : sign | bits;
}

/** The integer types: the number of bits, negative for signed types. */
function widthOf(type) {
  const found = /^([su])(\d+)$/.exec(type);
  return found && (found[1] === "s" ? -1 : 1) * Number(found[2]);
}

/** An integer as the nearest `f64`, or as one that rounds to every narrower float as it would. */
function numberOf(integer, type) {
  if (type === "f64") return Number(integer);
  const size = integer < 0n ? -integer : integer;
  const extra = Math.max(size.toString(2).length - 52, 0);
  const cut = size >> BigInt(extra);
  // The last bit stands for all that are cut off.
  const sticky = cut << BigInt(extra) === size ? cut : cut | 1n;
  return Number(sticky) * 2 ** extra * (integer < 0n ? -1 : 1);
}

/**
 * A function from the bits of an element of one layout to those of the other. A converted integer
 * has zeros above its own bits.
 */
function converter(from, to) {
  const [given, wanted] = [widthOf(from.type), widthOf(to.type)];
  const [isFloat, becomesFloat] = [from, to].map(({ type }) => type in FLOATS || type === "f8e8m0fnu");
  const limit = (bits) => BigInt.asUintN(Math.min(Math.abs(wanted || to.bits), to.bits), bits);
  if (from.type === to.type || !(given || isFloat || from.type === "pred") || !(wanted || becomesFloat || to.type === "pred")) {
    // The same elements, in units of other sizes, or numbers that are only copied.
    return (bits) => BigInt.asUintN(to.bits, from.signed && from.bits < to.bits ? BigInt.asIntN(from.bits, bits) : bits);
  }
  const integerOf = (bits) => {
    if (from.type === "pred") return bits ? 1n : 0n;
    return given < 0 ? BigInt.asIntN(-given, bits) : BigInt.asUintN(given, bits);
  };
  // Only the low bits of a byte are those of a narrow float.
  const width = from.type in FLOATS ? FLOATS[from.type][0] + FLOATS[from.type][1] + 1 : from.bits;
  const convert = (all) => {
    const bits = isFloat ? BigInt.asUintN(width, all) : all;
    if (to.type === "pred") {
      if (!isFloat) return integerOf(bits) ? 1n : 0n;
      return floatOf(from.type, bits) === 0 ? 0n : 1n;
    }
    if (!isFloat) {
      const integer = integerOf(bits);
      return becomesFloat ? bitsOfFloat(to.type, numberOf(integer, to.type), integer < 0n) : limit(integer);
    }
    const value = floatOf(from.type, bits);
    if (becomesFloat) return bitsOfFloat(to.type, value, signOf(from.type, bits));
    if (Number.isNaN(value)) return 0n;
    const [low, high] = wanted < 0 ? [-(1n << BigInt(-wanted - 1)), (1n << BigInt(-wanted - 1)) - 1n] : [0n, (1n << BigInt(wanted)) - 1n];
    if (value >= Number(high)) return limit(high);
    if (value <= Number(low)) return limit(low);
    return limit(BigInt(Math.trunc(value)));
  };
  // Narrow types have few values.
  if (from.bits > 16) return convert;
  const known = new Map();
  return (bits) => {
    if (!known.has(bits)) known.set(bits, convert(bits));
    return known.get(bits);
  };
}
