// Tables whose encrypted files tell nothing of a column: neither its name nor the size of its
// numbers, which stay with whoever encrypts. The types are in client.d.ts.

import { HeError } from "./client.js";

/** How a number of the original table follows from one of the concealed one. */
const REVEAL = {
  values: (x, { centre, unit }) => centre + 2 * x * unit,
  sum: (x, { centre, unit, rows }) => rows * centre + 2 * x * unit,
  mean: (x, { centre, unit }) => centre + 2 * x * unit,
  variance: (x, { unit }) => 4 * x * unit * unit,
};

/**
 * The middle of the numbers, and the power of two with which 2 unit is the least one above all
 * their distances from it; the file's exponent of what is left is 0.
 */
function placeOf(name, values) {
  let [low, high] = [Infinity, -Infinity];
  for (const x of values) {
    if (!Number.isFinite(x)) throw new HeError(`column ${name} holds ${x}`, "leave the row out, or put a number there");
    [low, high] = [Math.min(low, x), Math.max(high, x)];
  }
  const centre = low / 2 + high / 2;
  const widest = Math.max(high - centre, centre - low);
  let unit = 0.5;
  if (widest > 0) {
    while (unit <= widest / 2) unit *= 2;
    while (unit > widest && unit > Number.MIN_VALUE) unit /= 2;
  }
  return { centre, unit };
}

export function conceal({ columns }) {
  const secrets = columns.map(({ name, values }) => {
    if (values instanceof Float64Array) return { name, rows: values.length, ...placeOf(name, values) };
    throw new HeError(`column ${name} holds something else than doubles`, "give a Float64Array: integers have no scale");
  });
  return {
    table: {
      columns: columns.map(({ name, values }, at) => {
        const { centre, unit } = secrets[at];
        return { name, values: values.map((x) => (x - centre) / unit / 2) };
      }),
      names: "keep",
    },
    reveal(result, kind) {
      const formula = REVEAL[kind];
      if (!formula) throw new HeError(`there is no formula for ${kind}`, `give one of ${Object.keys(REVEAL).join(", ")}`);
      if (result.columns?.length !== secrets.length) {
        throw new HeError("the result is not of this table", "give a table with as many columns");
      }
      return {
        kind: "table",
        columns: result.columns.map(({ values }, at) => {
          const secret = secrets[at];
          return { name: secret.name, values: Float64Array.from(values, (x) => formula(Number(x), secret)) };
        }),
      };
    },
  };
}
