// A GitHub App on Probot that checks a delivery's signature, reads it, and does nothing: what an App costs
// before it does anything. Run by `probot.rs`, which names the folder that has Probot, the port and the
// credentials.
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const { PROBOT_FOLDER, PORT, APP_ID, KEY_PATH, SECRET } = process.env;
const require = createRequire(join(PROBOT_FOLDER, "package.json"));
const { createNodeMiddleware, createProbot } = await import(pathToFileURL(require.resolve("probot")));

const probot = createProbot({
  overrides: {
    appId: APP_ID,
    privateKey: readFileSync(KEY_PATH, "utf8"),
    secret: SECRET,
    logLevel: "fatal",
  },
});
const app = (robot) => robot.on("check_run", async () => {});
const middleware = await createNodeMiddleware(app, { probot, webhooksPath: "/webhook" });
createServer((request, response) =>
  middleware(request, response, () => response.writeHead(404).end()),
).listen(Number(PORT), "127.0.0.1");
