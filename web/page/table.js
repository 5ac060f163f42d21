/** The view of tables. */

import { readTable } from "./csv.js";
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
      if (input.files[0]) this.#read(input.files[0]);
      input.value = "";
    });
    onDrop($("table-drop"), (file) => this.#read(file));
    $("table-sample").addEventListener("click", () => { $("table-text").value = SAMPLE; });
    $("table-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.work.start((signal) => this.#run(signal));
    });
  }

  async #read(file) {
    problem.clear();
    if (file.size > MOST) {
      problem.show(Object.assign(new Error("the file has more than 16 MiB"), { hint: "choose a smaller one, or use he-cli" }));
      return;
    }
    $("table-text").value = await file.text();
  }

  async #run(signal) {
    const table = readTable($("table-text").value);
    const statistics = [...document.querySelectorAll("#table-form [name=statistic]:checked")].map((box) => box.value);
    if (statistics.length === 0) {
      throw Object.assign(new Error("nothing to compute is chosen"), { hint: "choose mean, variance or both" });
    }
    const { service, keys } = this.work;
    const sent = await this.work.send((client, task) => client.encryptTable(table, task), signal);
    const results = {};
    try {
      this.work.showStored(sent.object, sent.size, WIDTH, HEIGHT).catch(() => {});
      for (const name of statistics) {
        const title = `Compute the ${name} on the server`;
        const result = await this.work.compute({ name }, sent.object, sent.keySet, signal, title);
        results[name] = result.columns.map((column) => Number(column.values[0]));
      }
    } catch (error) {
      if (error.status === 404 || error.status === 410) keys.unpublish();
      throw error;
    } finally {
      service.remove(`/v1/objects/${sent.object}`);
    }
    this.#show(table, statistics, results);
  }

  #show(table, statistics, results) {
    const heading = make("tr", {}, make("th", { scope: "col", textContent: "column" }),
      ...statistics.map((name) => make("th", { scope: "col", textContent: name })));
    const rows = table.columns.map(({ name }, at) => make("tr", {}, make("th", { scope: "row", textContent: name }),
      ...statistics.map((statistic) => make("td", { textContent: shown(results[statistic][at]) }))));
    $("table-result").replaceChildren(make("thead", {}, heading), make("tbody", {}, ...rows));
    const { length } = table.columns[0].values;
    $("table-result-note").textContent = `Of ${length} ${length === 1 ? "row" : "rows"}; decrypted in this browser.`;
  }
}
