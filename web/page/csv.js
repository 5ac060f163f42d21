/** Tables of numbers as comma-separated text. */

function refused(message, hint) {
  return Object.assign(new Error(message), { hint });
}

/** The fields of each line; quotes as in RFC 4180. The separator is the first of , ; and tab. */
function fields(text) {
  const separator = /[,;\t]/.exec(text.split("\n", 1)[0])?.[0] ?? ",";
  const rows = [[]];
  let field = "";
  let quoted = false;
  for (let i = 0; i < text.length; i += 1) {
    const c = text[i];
    if (quoted) {
      if (c !== '"') field += c;
      else if (text[i + 1] === '"') { field += '"'; i += 1; } else quoted = false;
    } else if (c === '"' && field === "") quoted = true;
    else if (c === separator) { rows.at(-1).push(field); field = ""; }
    else if (c === "\n") { rows.at(-1).push(field); field = ""; rows.push([]); }
    else if (c !== "\r") field += c;
  }
  rows.at(-1).push(field);
  return rows.filter((row) => row.length > 1 || row[0].trim() !== "");
}

/**
 * Reads a table. The first line names the columns unless all of it are numbers.
 *
 * @param {string} text
 * @returns {{columns: {name: string, values: Float64Array}[]}}
 */
export function readTable(text) {
  const rows = fields(text.replace(/^\uFEFF/, ""));
  if (rows.length === 0) throw refused("the table is empty", "type numbers, one row per line, separated by commas");
  const number = (field) => (field.trim() === "" ? NaN : Number(field.trim()));
  const named = rows[0].some((field) => !Number.isFinite(number(field)));
  const names = named ? rows.shift().map((name) => name.trim()) : rows[0].map((_, at) => `column ${at + 1}`);
  if (rows.length === 0) throw refused("the table has names but no numbers", "add a line of numbers");
  const columns = names.map((name, at) => ({ name: name || `column ${at + 1}`, values: new Float64Array(rows.length) }));
  rows.forEach((row, line) => {
    const where = `line ${line + (named ? 2 : 1)}`;
    if (row.length !== names.length) {
      throw refused(`${where} has ${row.length} fields, but the first line has ${names.length}`, "give every line as many fields");
    }
    row.forEach((field, at) => {
      const value = number(field);
      if (!Number.isFinite(value)) {
        throw refused(`${where}, ${columns[at].name}: "${field.trim().slice(0, 40)}" is not a number`, "write numbers like 1.5 or 2e-3");
      }
      columns[at].values[line] = value;
    });
  });
  return { columns };
}
