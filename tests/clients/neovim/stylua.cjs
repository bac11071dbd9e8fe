// Formats Lua files as `.stylua.toml` says and names those that change: node stylua.cjs PACKAGES FILE…
const { readFileSync } = require("node:fs");
const [packages, ...files] = process.argv.slice(2);
const stylua = require(require.resolve("@johnnymorganz/stylua", { paths: [packages] }));

function style() {
  const config = stylua.Config.new(); // used up by each call
  config.column_width = 110;
  config.indent_type = stylua.IndentType.Spaces;
  config.indent_width = 2;
  config.quote_style = stylua.QuoteStyle.AutoPreferSingle;
  return config;
}

for (const file of files) {
  const text = readFileSync(file, "utf8");
  if (stylua.formatCode(text, style(), undefined, stylua.OutputVerification.Full) !== text) console.log(file);
}
