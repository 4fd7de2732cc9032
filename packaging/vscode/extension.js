// The client of `stc lsp`: VS Code starts it when the first stencil program is opened.
const { workspace } = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");

let client;

function activate() {
  const settings = workspace.getConfiguration("stencil");
  const run = { command: settings.get("command"), args: ["lsp"], transport: TransportKind.stdio };
  client = new LanguageClient(
    "stencil",
    "Stencil programs",
    { run, debug: run },
    { documentSelector: [{ language: "stencil" }], initializationOptions: { real: settings.get("real") } }
  );
  return client.start();
}

function deactivate() {
  return client && client.stop();
}

module.exports = { activate, deactivate };
