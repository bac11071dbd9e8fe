// Where a program of a Python package may be. Knows neither VS Code nor the disk.

import { posix, win32 } from "node:path";

/** What the places depend on. */
export interface Machine {
  platform: string;
  env: Readonly<Record<string, string | undefined>>;
  home: string;
}

/** Paths at which a program may be, likeliest first: the PATH, then where `pipx` and `uv tool` put it. */
export function places(name: string, machine: Machine): string[] {
  const { isAbsolute, join } = paths(machine);
  const program = isWindows(machine) ? `${name}.exe` : name;
  const inside = isWindows(machine) ? "Scripts" : "bin";
  const folders = [
    ...onPath(machine),
    ...shared(machine),
    ...[...pipx(machine), ...uv(machine)].map((folder) => join(folder, name, inside)),
  ];
  // A folder that is not absolute would be one of the workspace, whose programs are not the person's.
  return [...new Set(folders.filter(isAbsolute).map((folder) => join(folder, program)))];
}

function onPath(machine: Machine): string[] {
  return (machine.env["PATH"] ?? "").split(paths(machine).delimiter);
}

/** The folders in which both link the programs of what they install. */
function shared(machine: Machine): string[] {
  const { join } = paths(machine);
  const { env, home } = machine;
  return [
    expanded(machine, "PIPX_BIN_DIR"),
    env["UV_TOOL_BIN_DIR"],
    env["XDG_BIN_HOME"],
    env["XDG_DATA_HOME"] && join(env["XDG_DATA_HOME"], "..", "bin"),
    join(home, ".local", "bin"),
  ].filter(isGiven);
}

/** The folders of pipx with an environment for each program, in the order in which it looks itself. */
function pipx(machine: Machine): string[] {
  const { join } = paths(machine);
  const { env, home } = machine;
  const local = env["LOCALAPPDATA"];
  const homes = [
    expanded(machine, "PIPX_HOME"),
    join(home, ".local", "pipx"),
    ...(isWindows(machine) ? [join(home, "pipx"), local && join(local, "pipx", "pipx")] : []),
    ...data(machine).map((folder) => join(folder, "pipx")),
  ];
  return homes.filter(isGiven).map((folder) => join(folder, "venvs"));
}

/** The folders of uv with an environment for each tool. */
function uv(machine: Machine): string[] {
  const { join } = paths(machine);
  const { env } = machine;
  const roaming = [env["APPDATA"]].filter(isGiven);
  const folders = isWindows(machine)
    ? roaming.flatMap((folder) => [join(folder, "uv"), join(folder, "uv", "data")])
    : data(machine).map((folder) => join(folder, "uv"));
  return [env["UV_TOOL_DIR"], ...folders.map((folder) => join(folder, "tools"))].filter(isGiven);
}

/** Where programs keep a person's data. */
function data(machine: Machine): string[] {
  const { join } = paths(machine);
  const { env, home, platform } = machine;
  if (isWindows(machine)) return [env["LOCALAPPDATA"]].filter(isGiven);
  const folders = [env["XDG_DATA_HOME"], join(home, ".local", "share")];
  if (platform === "darwin") folders.push(join(home, "Library", "Application Support"));
  return folders.filter(isGiven);
}

/** A variable of pipx, in which `~` means the home. */
function expanded({ env, home }: Machine, variable: string): string | undefined {
  return env[variable]?.replace(/^~(?=$|[/\\])/, () => home);
}

function paths(machine: Machine): typeof posix {
  return isWindows(machine) ? win32 : posix;
}

function isWindows({ platform }: Machine): boolean {
  return platform === "win32";
}

function isGiven(folder: string | undefined): folder is string {
  return !!folder;
}
