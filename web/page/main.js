/** Starts the page: views, connection, traffic. */

import { Account } from "./account.js";
import { DigitView } from "./digit.js";
import { $, bytes } from "./dom.js";
import { Keys } from "./keys.js";
import { PasswordView } from "./password.js";
import { PictureView } from "./picture.js";
import { TableView } from "./table.js";

const account = new Account();
const { service } = account;

// One operation of the page follows another on the original picture, so one level is enough. Edges
// amplify by 16, and are exact to a sample with 16 bits.
const forPictures = { scheme: "ckks", for: "images", depth: 1, precision: 16 };
// A variance takes a product of numbers near their means.
const forTables = { scheme: "ckks", for: "tables", depth: 2, precision: 30 };

new PictureView(account, new Keys("picture", forPictures, service));
new TableView(account, new Keys("table", forTables, service));
const digit = new DigitView(account);
const password = new PasswordView(account);

/** Shows the view that the address names. */
function route() {
  const links = [...document.querySelectorAll("nav a")];
  const current = links.find((link) => link.hash === location.hash) ?? links[0];
  for (const link of document.querySelectorAll("nav a")) {
    const isCurrent = link === current;
    if (isCurrent) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
    $(link.dataset.view).hidden = !isCurrent;
    if (isCurrent && link.dataset.view === "digit") digit.show();
    if (isCurrent && link.dataset.view === "password") password.show();
  }
}

function connection() {
  const offline = !navigator.onLine;
  $("offline").hidden = !offline;
  $("offline").textContent = offline ? "You are offline. What was started goes on when the connection is back." : "";
}

addEventListener("hashchange", route);
addEventListener("online", connection);
addEventListener("offline", connection);
setInterval(() => {
  const text = `Sent ${bytes(service.sent)}, received ${bytes(service.received)}.`;
  if ($("traffic").textContent !== text) $("traffic").textContent = text;
}, 500);
route();
connection();
document.documentElement.dataset.ready = "yes";
