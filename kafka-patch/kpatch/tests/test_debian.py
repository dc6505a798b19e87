"""The Debian package of the built distribution; harness/tests/test_clean_root.py installs it."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kpatch import cli, debian, dist, paths, upstream
from kpatch.errors import KpatchError

pytestmark = [
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not paths.ARTIFACTS.is_file(), reason="artifacts are not resolved: gradle verifyArtifacts"),
    pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="dpkg-deb is not on PATH: apt-get install dpkg"),
]

UP = upstream.load()
NAME = dist.name(UP, "rackspan")
BUILT = paths.BUILD / "dist" / NAME


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of the built distribution, written by the command."""
    out = tmp_path_factory.mktemp("package")
    (out / "dist").mkdir()
    for name in (NAME, f"{NAME}.tgz"):
        (out / "dist" / name).symlink_to(BUILT.with_name(name))
    assert cli.main(["package", "--out", str(out)]) == 0
    return out / "dist" / f"rackspan-kafka_{UP.version}-{UP.build}_all.deb"


@pytest.fixture(scope="module")
def root(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files and control files of the package, unpacked."""
    folder = tmp_path_factory.mktemp("root")
    subprocess.run(["dpkg-deb", "-R", str(package), str(folder)], check=True)
    return folder


def test_bin_and_libs_are_those_of_the_distribution(root: Path) -> None:
    home = root / "usr/share/rackspan-kafka"
    for part in ("bin", "libs", "licenses", "rackspan.json", "LICENSE", "NOTICE"):
        assert subprocess.run(["diff", "-r", BUILT / part, home / part]).returncode == 0, part
    for file in (home / "bin").iterdir():
        assert file.stat().st_mode & 0o777 == 0o755, file
    assert str((home / "config").readlink()) == "/etc/rackspan-kafka"
    assert str((home / "logs").readlink()) == "/var/log/rackspan-kafka"
    done = subprocess.run([home / "bin/rackspan-kafka.sh", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"rackspan-kafka {UP.version}-{UP.build}: ")


def test_all_settings_are_conffiles_and_keep_data_below_var(root: Path) -> None:
    listed = (root / "DEBIAN/conffiles").read_text().splitlines()
    assert listed == sorted(f"/{p.relative_to(root)}" for p in (root / "etc").rglob("*") if p.is_file())
    official = {f"/etc/rackspan-kafka/{p.relative_to(BUILT / 'config')}" for p in (BUILT / "config").rglob("*.*")}
    assert set(listed) == official | {"/etc/default/rackspan-kafka"}
    for name in ("server", "broker", "controller"):
        text = (root / f"etc/rackspan-kafka/{name}.properties").read_text()
        assert re.findall(r"(?m)^log\.dirs=(.*)$", text) == [f"/var/lib/rackspan-kafka/{name}"]
        assert re.sub(r"log\.dirs=.*", "", text) == re.sub(
            r"log\.dirs=.*", "", (BUILT / f"config/{name}.properties").read_text()
        )


def test_control_fields(package: Path, root: Path) -> None:
    fields = ("Package", "Version", "Architecture", "Depends", "Installed-Size")
    shown = [
        subprocess.run(["dpkg-deb", "-f", str(package), f], capture_output=True, text=True, check=True) for f in fields
    ]
    name, version, architecture, depends, size = (done.stdout.strip() for done in shown)
    assert (name, version, architecture) == ("rackspan-kafka", f"{UP.version}-{UP.build}", "all")
    # A package that exists first, so that apt has a choice to make; then whatever brings Java 17.
    assert depends == "adduser, default-jre-headless (>= 2:1.17) | java17-runtime-headless"
    used = sum(p.stat().st_size for p in root.rglob("*") if p.is_file() and not p.is_symlink()) / 1024
    assert used < int(size) < used * 1.02
    sums = subprocess.run(["md5sum", "--quiet", "-c", "DEBIAN/md5sums"], cwd=root)
    assert sums.returncode == 0 and len((root / "DEBIAN/md5sums").read_text().splitlines()) > 200


def test_everything_belongs_to_root_and_has_the_time_of_the_release(package: Path) -> None:
    done = subprocess.run(["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE, check=True).stdout
    shown = subprocess.run(
        ["tar", "tv", "--utc", "--full-time"], input=done, capture_output=True, check=True
    ).stdout.decode()
    rows = [line.split(None, 5) for line in shown.splitlines()]
    time = debian.release(UP).time.strftime("%Y-%m-%d %H:%M:%S")
    assert {(row[1], f"{row[3]} {row[4]}") for row in rows} == {("root/root", time)}


def test_the_service_is_well_formed_and_nothing_enables_it(root: Path) -> None:
    unit = root / "usr/lib/systemd/system/rackspan-kafka.service"
    text = unit.read_text()
    for line in ("User=rackspan-kafka", "NoNewPrivileges=yes", "ProtectSystem=full", "SuccessExitStatus=143"):
        assert f"\n{line}\n" in text
    start = re.findall(r"(?m)^ExecStart=(\S+) (\S+)$", text)
    assert len(start) == 1 and all((root / path.lstrip("/")).is_file() for path in start[0])
    assert "/var/lib/rackspan-kafka" in re.findall(r"(?m)^WorkingDirectory=(.*)$", text)
    scripts = "".join((root / "DEBIAN" / name).read_text() for name in ("postinst", "prerm", "postrm"))
    assert not re.search(r"\benable\b|debconf|db_input|\bread\b", re.sub(r"(?m)^ *#.*$", "", scripts))
    for name in ("postinst", "prerm", "postrm"):
        assert subprocess.run(["sh", "-n", root / "DEBIAN" / name]).returncode == 0
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not on PATH: apt-get install systemd")
    verify = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", f"--root={root}", unit.name]
    done = subprocess.run(verify, capture_output=True, text=True)
    assert (done.returncode, [line for line in done.stderr.splitlines() if unit.name in line]) == (0, [])


def test_licences_of_all_jars_are_in_the_copyright_file(root: Path) -> None:
    text = (root / "usr/share/doc/rackspan-kafka/copyright").read_text()
    paragraphs = text.split("\n\n")
    rows = [line.split("  ") for line in (BUILT / "licenses/jars.txt").read_text().splitlines()]
    for jar, licence, *notice in rows:
        found = [p for p in paragraphs if p.startswith(f"Files: usr/share/rackspan-kafka/libs/{jar}\n")]
        if licence == "Apache-2.0":
            assert not found  # of the first paragraph, which covers all
        else:
            assert found == [f"Files: usr/share/rackspan-kafka/libs/{jar}\nCopyright: {notice[0]}\nLicense: {licence}"]
    stated = {line.removeprefix("License: ") for p in paragraphs for line in p.splitlines() if p.startswith("License")}
    assert {row[1] for row in rows} <= stated


def test_checksums_of_the_new_files_are_beside_them(package: Path) -> None:
    for file in (package.name, f"{NAME}.cdx.json"):
        for program in ("sha256sum", "sha512sum"):
            sums = f"{file}.{program.removesuffix('sum')}"
            done = subprocess.run([program, "-c", sums], cwd=package.parent, capture_output=True, text=True)
            assert (done.returncode, done.stdout) == (0, f"{file}: OK\n"), done


def test_the_same_distribution_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a few jars, which are enough; another umask, times and places of files show nowhere."""
    made = []
    for place, umask in (("a", 0o022), ("another/place", 0o077)):
        before = os.umask(umask)
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(1_000_000_000 + umask))
        try:
            folder = tmp_path / place / NAME
            unused = shutil.ignore_patterns("[!l]*.jar")
            shutil.copytree(BUILT, folder, copy_function=shutil.copyfile, ignore=unused)
            for file in folder.rglob("*"):
                os.utime(file, (umask, umask))
            (tmp_path / place / "bill").write_text("{}\n")
            made.append(debian.build(UP, folder, tmp_path / place / "bill", folder.parent).read_bytes())
        finally:
            os.umask(before)
    assert made[0] == made[1], "the bytes differ"
    assert sorted(p.name for p in (tmp_path / "a").iterdir() if p.suffix not in (".sha256", ".sha512")) == [
        "bill",
        NAME,
        debian.name(UP),
    ]


def test_a_changelog_of_another_version_is_refused(tmp_path: Path) -> None:
    changelog = tmp_path / "changelog"
    changelog.write_text((debian.SOURCES / "changelog").read_text().replace(f"{UP.version}-{UP.build}", "4.0.0-9"))
    with pytest.raises(KpatchError) as e:
        debian.release(UP, changelog)
    assert "does not begin with 4.3.1-1" in str(e.value) and "4.0.0-9" in str(e.value)


def test_another_base_is_not_packaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(paths, "BASE", "4.2.1")
    assert cli.main(["package", "--out", str(tmp_path)]) == 1
    assert "only the product's base is packaged: the base is 4.2.1" in capsys.readouterr().err


def test_without_an_archive_there_is_nothing_to_package(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["package", "--out", str(tmp_path)]) == 1
    assert f"nothing to package: {NAME}.tgz is not in {tmp_path / 'dist'}" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_failure_of_dpkg_deb_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "dpkg-deb"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nfor last; do :; done\necho half > "$last"\necho "no space left" >&2\nexit 2\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    (tmp_path / "bill").touch()
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(KpatchError, match="no space left"):
        debian.build(UP, BUILT, tmp_path / "bill", out)
    assert list(out.iterdir()) == []
    assert {p.name for p in tmp_path.iterdir()} == {"bin", "bill", "out"}


@pytest.mark.slow
def test_lintian_finds_nothing(package: Path) -> None:
    """Beyond what is overridden with a reason; an override that is not needed is a finding, too."""
    if not shutil.which("lintian"):
        pytest.skip("lintian is not on PATH: apt-get install lintian")
    command = ["lintian", "--no-cfg", "--allow-root", "--display-info", "--fail-on", "error,warning,info"]
    done = subprocess.run([*command, str(package)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
