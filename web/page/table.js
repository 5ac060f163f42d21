/** The view of tables. */

import { conceal } from "../client/client.js";
import { $, make, onDrop } from "./dom.js";
import * as problem from "./problem.js";
import { Work } from "./work.js";

const SAMPLE = `height cm,weight kg,age
171.5,68.2,34
164,59.4,28
182.3,81.7,45
175.8,74.1,39
158.2,52.6,23
169.9,66,51
190.4,92.3,31
`;

/** The most bytes of a CSV file that is read. */
const MOST = 16 << 20;

const WIDTH = 512;
const HEIGHT = 256;

/** A number with as many digits as the result is good for. */
function shown(value) {
  return String(Number(value.toPrecision(7)));
}

export class TableView {
  constructor(account, keys) {
    this.work = new Work("table", account, keys);
    const input = $("table-file");
    input.addEventListener("change", () => {
      if (input.files[0]) this.#take(input.files[0]);
      input.value = "";
    });
    onDrop($("table-drop"), (file) => this.#take(file));
    $("table-sample").addEventListener("click", () => { $("table-text").value = SAMPLE; });
    $("table-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.work.start((signal) => this.#run(signal));
    });
  }

  /** Shows the text of a file, if it is one. */
  async #take(file) {
    problem.clear();
    try {
      if (file.size > MOST) {
        throw Object.assign(new Error("the file has more than 16 MiB"), { hint: "choose a smaller one, or use he-cli" });
      }
      $("table-text").value = await (await this.work.keys.client()).tableText(file);
    } catch (error) {
      problem.show(error);
    }
  }

  /** The columns of what was typed, by the options that were chosen. */
  async #read(onWarning) {
    const columns = $("table-columns").value.split(",").map((name) => name.trim()).filter(Boolean);
    const [header, missing, decimal] = ["header", "missing", "decimal"].map((name) => $(`table-${name}`).value);
    const client = await this.work.keys.client();
    try {
      const read = await client.readTable($("table-text").value, { columns, header, missing, decimal }, { onWarning });
      const titled = ({ name, values }) => ({ name: read.named && name ? name : `column ${name}`, values });
      return { columns: read.columns.map(titled) };
    } catch (error) {
      $("table-reading").open = true;
      throw error;
    }
  }

  async #run(signal) {
    const warnings = [];
    const table = await this.#read((warning) => warnings.push(warning));
    const statistics = [...document.querySelectorAll("#table-form [name=statistic]:checked")].map((box) => box.value);
    if (statistics.length === 0) {
      throw Object.assign(new Error("nothing to compute is chosen"), { hint: "choose mean, variance or both" });
    }
    const { service, keys } = this.work;
    // The file states the same of every column: names and ranges stay here.
    const concealed = conceal(table);
    const sent = await this.work.send((client, task) => client.encryptTable(concealed.table, task), signal);
    const results = {};
    try {
      this.work.showStored(sent.object, sent.size, WIDTH, HEIGHT).catch(() => {});
      for (const name of statistics) {
        const title = `Compute the ${name} on the server`;
        const result = await this.work.compute({ name }, sent.object, sent.keySet, signal, title);
        results[name] = concealed.reveal(result, name).columns.map(({ values }) => values[0]);
      }
    } catch (error) {
      if (error.status === 404 || error.status === 410) keys.unpublish();
      throw error;
    } finally {
      service.remove(`/v1/objects/${sent.object}`);
    }
    this.#show(table, statistics, results, warnings);
  }

  #show(table, statistics, results, warnings) {
    const heading = make("tr", {}, make("th", { scope: "col", textContent: "column" }),
      ...statistics.map((name) => make("th", { scope: "col", textContent: name })));
    const rows = table.columns.map(({ name }, at) => make("tr", {}, make("th", { scope: "row", textContent: name }),
      ...statistics.map((statistic) => make("td", { textContent: shown(results[statistic][at]) }))));
    $("table-result").replaceChildren(make("thead", {}, heading), make("tbody", {}, ...rows));
    const { length } = table.columns[0].values;
    const said = warnings.map((warning) => ` ${problem.text(warning)}`).join("");
    $("table-result-note").textContent = `Of ${length} ${length === 1 ? "row" : "rows"}; decrypted in this browser.${said}`;
  }
}
