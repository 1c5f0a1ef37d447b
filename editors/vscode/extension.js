// Starts `exportlint server` and shows what it says; all that is known of code is known by the server.
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function activate() {
  const settings = vscode.workspace.getConfiguration("exportlint");
  const [command, ...args] = settings.get("command");
  client = new LanguageClient(
    "exportlint",
    { command, args },
    {
      documentSelector: [{ scheme: "file", language: "python" }],
      initializationOptions: { mode: settings.get("mode"), torch: settings.get("torch"), pages: "returned" },
      synchronize: { configurationSection: "exportlint" },
      middleware: { executeCommand: shownAsDocument },
    },
  );
  await client.start();
}

// A page of a rule is a document beside the code, where it can be read at length.
async function shownAsDocument(command, args, next) {
  const page = await next(command, args);
  if (command === "exportlint.explain" && typeof page === "string") {
    const content = await vscode.workspace.openTextDocument({ content: page, language: "plaintext" });
    await vscode.window.showTextDocument(content, { viewColumn: vscode.ViewColumn.Beside, preview: true });
  }
  return page;
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, deactivate };
