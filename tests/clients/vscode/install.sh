#!/usr/bin/env bash
# Installs what the tests in VS Code need, outside of the repository: code-server (VS Code 1.100 in a browser),
# the packages that the extension is built with, and Playwright. Does nothing where it is done already.
#
#   PYTHON=.venv/bin/python tests/clients/vscode/install.sh      # about a minute on two cores
#
# Needed before: node >= 20 with its headers, npm, gcc, g++, make, ripgrep, libkrb5-dev, chromium.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
extension=$(cd "$here/../../../clients/vscode" && pwd)
cache=${MAGENT_CI_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/magent-lsp-ci}
python=$(command -v "${PYTHON:-python3}")
[ "${python#/}" != "$python" ] || python=$PWD/$python  # the functions below change the folder
version=4.100.3
quiet=(--no-audit --no-fund --no-update-notifier --loglevel=error)

for program in node npm gcc g++ make rg; do
    command -v "$program" >/dev/null || { echo "install.sh: $program is missing" >&2; exit 1; }
done

code_server() {
    local target=$cache/code-server-$version
    [ -f "$target/complete" ] && return
    rm -rf "$target"
    mkdir -p "$target"
    cd "$target"
    # The headers lie beside node: nothing is downloaded but npm packages.
    export npm_config_yes=true npm_config_nodedir
    npm_config_nodedir=$(dirname "$(dirname "$(readlink -f "$(command -v node)")")")
    npm install "${quiet[@]}" --ignore-scripts "code-server@$version"
    # Without its install script, whose first step wants to download a ripgrep: the system's is as good.
    npm_config_build_from_source=true npm rebuild "${quiet[@]}" argon2
    cd node_modules/code-server/lib/vscode
    npm install "${quiet[@]}" --ignore-scripts --omit=dev
    npm rebuild "${quiet[@]}" node-pty @vscode/spdlog @parcel/watcher native-watchdog kerberos
    mkdir -p node_modules/@vscode/ripgrep/bin
    ln -sf "$(command -v rg)" node_modules/@vscode/ripgrep/bin/rg
    ln -sfn node_modules node_modules.asar
    (cd bin/remote-cli && ln -sf code-linux.sh code-server)
    (cd bin/helpers && ln -sf browser-linux.sh browser.sh)
    (cd extensions && npm install "${quiet[@]}" --ignore-scripts --omit=dev)
    touch "$target/complete"
}

extension_packages() {
    local target=$cache/vscode-extension
    mkdir -p "$target"
    if cmp -s "$extension/package-lock.json" "$target/installed-lock.json"; then return; fi
    cp "$extension/package.json" "$extension/package-lock.json" "$extension/.npmrc" "$target/"
    cd "$target"
    npm ci "${quiet[@]}" --ignore-scripts
    cp "$extension/package-lock.json" "$target/installed-lock.json"
}

stylua() {
    # The formatter of the Neovim plugin: a package without a program to download.
    local target=$cache/stylua
    [ -d "$target/node_modules/@johnnymorganz/stylua" ] && return
    mkdir -p "$target"
    npm install "${quiet[@]}" --ignore-scripts --prefix "$target" @johnnymorganz/stylua@2.5.2
}

playwright() {
    "$python" -c 'import playwright' 2>/dev/null || "$python" -m pip install -q playwright==1.65.2
}

code_server
extension_packages
stylua
playwright
echo "VS Code for the tests is in $cache"
