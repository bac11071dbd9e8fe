"""Builds the extension and packs it as a .vsix, which is a zip file: `python3 pack.py [TARGET]`."""

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

HERE = Path(__file__).parent
LICENSE = HERE.parents[1] / "LICENSE"
TYPES = {
    ".css": "text/css",
    ".js": "application/javascript",
    ".json": "application/json",
    ".md": "text/markdown",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".vsixmanifest": "text/xml",
}

ASSETS = {
    "Code.Manifest": "package.json",
    "Services.Content.Details": "readme.md",
    "Services.Content.License": "LICENSE.txt",
    "Services.Icons.Default": "media/icon.png",
}


def pack(target: Path, *, here: Path = HERE, license: Path = LICENSE) -> Path:
    """Write the package from what `build` made in `here`."""
    package = json.loads((here / "package.json").read_text(encoding="utf-8"))
    files = {
        "extension/package.json": _slim(package),
        "extension/LICENSE.txt": license.read_text(encoding="utf-8"),
        "extension/readme.md": (here / "README.md").read_text(encoding="utf-8"),
        "extension/THIRD-PARTY-NOTICES.txt": _notices(here),
        "extension.vsixmanifest": _manifest(package),
        "[Content_Types].xml": _types(),
    }
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            _add(archive, name, text.encode())
        for folder in ("dist", "media"):
            for file in sorted((here / folder).rglob("*")):
                if file.is_file():
                    _add(archive, f"extension/{file.relative_to(here).as_posix()}", file.read_bytes())
    return target


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))  # the same files give the same package
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    archive.writestr(info, data)


def _slim(package: dict[str, object]) -> str:
    kept = {
        key: value
        for key, value in package.items()
        if key not in ("devDependencies", "dependencies", "scripts")
    }
    return json.dumps(kept, ensure_ascii=False)


def _notices(here: Path) -> str:
    """The licenses of what the bundles hold."""
    lock = json.loads((here / "package-lock.json").read_text(encoding="utf-8"))
    parts = []
    for place, entry in sorted(lock["packages"].items()):
        if not place or entry.get("dev"):
            continue
        name = place.rpartition("node_modules/")[2]
        texts = [
            file.read_text(encoding="utf-8")
            for file in sorted((here / place).iterdir())
            if file.name.lower().startswith(("license", "licence"))
        ]
        parts.append(
            f"{name} {entry['version']} ({entry.get('license', 'see below')})\n\n" + "\n".join(texts)
        )
    return "\n\n----\n\n".join(parts) + "\n"


def _manifest(package: dict[str, object]) -> str:
    identity = " ".join(
        f"{key}={quoteattr(str(value))}"
        for key, value in (
            ("Language", "en-US"),
            ("Id", package["name"]),
            ("Version", package["version"]),
            ("Publisher", package["publisher"]),
        )
    )
    engines = package["engines"]
    assert isinstance(engines, dict)
    assets = "\n".join(
        f'    <Asset Type="Microsoft.VisualStudio.{kind}" Path="extension/{path}" Addressable="true"/>'
        for kind, path in ASSETS.items()
    )
    return f"""<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity {identity}/>
    <DisplayName>{escape(str(package["displayName"]))}</DisplayName>
    <Description xml:space="preserve">{escape(str(package["description"]))}</Description>
    <Tags>ai,agent,chat,lsp</Tags>
    <Categories>AI,Chat,Programming Languages</Categories>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value={quoteattr(str(engines["vscode"]))}/>
      <Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="workspace"/>
    </Properties>
    <License>extension/LICENSE.txt</License>
    <Icon>extension/media/icon.png</Icon>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
  <Dependencies/>
  <Assets>
{assets}
  </Assets>
</PackageManifest>
"""


def _types() -> str:
    rows = "".join(
        f'<Default Extension="{name}" ContentType="{kind}"/>' for name, kind in sorted(TYPES.items())
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">{rows}</Types>\n'
    )


def build(here: Path = HERE) -> None:
    """Compile the sources, with npm."""
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("npm is missing: install Node.js 20 or newer, which brings it.")
    if not (here / "node_modules").is_dir():
        subprocess.run([npm, "ci", "--ignore-scripts"], cwd=here, check=True)
    subprocess.run([npm, "run", "build"], cwd=here, check=True)


if __name__ == "__main__":
    build()
    version = json.loads((HERE / "package.json").read_text(encoding="utf-8"))["version"]
    made = pack(Path(sys.argv[1] if len(sys.argv) > 1 else HERE / f"magent-lsp-{version}.vsix"))
    print(f"code --install-extension {made}")
