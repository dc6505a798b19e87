"""The Maven repository, and projects that use it; the checksums beside the archive."""

import hashlib
import shutil
import subprocess
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

from kpatch import dist, maven, paths, upstream

pytestmark = [
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not paths.ARTIFACTS.is_file(), reason="artifacts are not resolved: gradle verifyArtifacts"),
]

UP = upstream.load()
VERSION = maven.version_of(UP)
REPOSITORY = paths.BUILD / "maven"
PLACE = REPOSITORY / "io" / "rackspan" / "rackspan-kafka-clients"
FILES = PLACE / VERSION / f"rackspan-kafka-clients-{VERSION}"
MAIN = """
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.serialization.StringSerializer;
import java.util.Map;

public final class Main {
    public static void main(String[] unused) {
        Map<String, Object> settings = Map.of("bootstrap.servers", "127.0.0.1:9", "acks", "min.insync.replicas",
            "key.serializer", StringSerializer.class, "value.serializer", StringSerializer.class);
        System.out.println("acks is " + new ProducerConfig(settings).getString(ProducerConfig.ACKS_CONFIG));
    }
}
"""
GRADLE = """
apply plugin: 'application'
repositories { maven { url '%s' }; mavenCentral() }
dependencies { implementation 'io.rackspan:rackspan-kafka-clients:%s' }
mainClassName = 'Main'
"""
MAVEN = """
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>example</groupId><artifactId>example</artifactId><version>1</version>
  <properties>
    <maven.compiler.source>17</maven.compiler.source>
    <maven.compiler.target>17</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <repositories><repository><id>rackspan</id><url>%s</url></repository></repositories>
  <dependencies><dependency>
    <groupId>io.rackspan</groupId><artifactId>rackspan-kafka-clients</artifactId><version>%s</version>
  </dependency></dependencies>
</project>
"""


def test_the_pom_has_what_repositories_demand() -> None:
    pom = ElementTree.parse(FILES.with_name(FILES.name + ".pom")).getroot()
    space = {"m": "http://maven.apache.org/POM/4.0.0"}
    for field in (
        "name",
        "description",
        "licenses/m:license/m:name",
        "developers/m:developer/m:name",
        "scm/m:connection",
    ):
        assert pom.findtext(f"m:{field}", "", space).strip(), field
    needs = {d.findtext("m:artifactId", "", space) for d in pom.findall("m:dependencies/m:dependency", space)}
    assert needs == {"lz4-java", "slf4j-api", "snappy-java", "zstd-jni"}
    metadata = ElementTree.parse(PLACE / "maven-metadata.xml").getroot()
    assert metadata.findtext("versioning/release") == VERSION
    assert VERSION in [v.text for v in metadata.findall("versioning/versions/version")]


def test_sources_are_the_patched_ones_and_our_own() -> None:
    with zipfile.ZipFile(FILES.with_name(FILES.name + "-sources.jar")) as sources:
        config = sources.read("org/apache/kafka/clients/producer/ProducerConfig.java").decode()
        assert "min.insync.replicas" in config
        assert "io/rackspan/producer/ReadinessPause.java" in sources.namelist()
    with zipfile.ZipFile(FILES.with_name(FILES.name + ".jar")) as jar:
        missing = {n for n in jar.namelist() if n.startswith("io/rackspan/") and "$" not in n and n.endswith(".class")}
    with zipfile.ZipFile(FILES.with_name(FILES.name + "-sources.jar")) as sources:
        assert missing and {n.replace(".class", ".java") for n in missing} <= set(sources.namelist())


def test_checksums_are_those_of_the_files() -> None:
    for file in [PLACE / "maven-metadata.xml", *(FILES.with_name(FILES.name + end) for end in (".jar", ".pom"))]:
        for kind in ("md5", "sha1", "sha256", "sha512"):
            digest = hashlib.new(kind, file.read_bytes()).hexdigest()
            assert file.with_name(f"{file.name}.{kind}").read_text() == f"{digest}\n", file
    for kind in ("rackspan", "stock"):
        for program in ("sha256sum", "sha512sum"):
            archive = f"{dist.name(UP, kind)}.tgz.{program.removesuffix('sum')}"
            done = subprocess.run([program, "-c", archive], cwd=paths.BUILD / "dist", capture_output=True, text=True)
            assert (done.returncode, done.stdout) == (0, f"{archive.rpartition('.')[0]}: OK\n"), done


def test_publishing_again_gives_the_same_bytes(tmp_path: Path) -> None:
    folder = paths.BUILD / "dist" / dist.name(UP, "rackspan")
    again = maven.publish(UP, folder, paths.BUILD / "kafka-src", tmp_path)
    for file in again.iterdir():
        assert file.read_bytes() == (PLACE / VERSION / file.name).read_bytes(), file.name


@pytest.mark.slow
def test_documentation_covers_what_the_patches_add(tmp_path: Path) -> None:
    maven.publish(UP, paths.BUILD / "dist" / dist.name(UP, "rackspan"), paths.BUILD / "kafka-src", tmp_path)
    made = [
        maven.document(UP, paths.BUILD / "dist" / dist.name(UP, "rackspan"), paths.BUILD / "kafka-src", tmp_path)
        for _ in range(2)
    ]
    with zipfile.ZipFile(made[0]) as documentation:
        assert "readyPartitionsForTopic" in documentation.read("org/apache/kafka/common/Cluster.html").decode()
        assert not [n for n in documentation.namelist() if "/internals/" in n]
    assert made[0].with_name(made[0].name + ".sha256").read_text().strip() == (
        hashlib.sha256(made[1].read_bytes()).hexdigest()
    )


def _compiled(folder: Path, build: str, text: str) -> None:
    (folder / "src/main/java").mkdir(parents=True)
    (folder / "src/main/java/Main.java").write_text(MAIN)
    (folder / build).write_text(text % (REPOSITORY.as_uri(), VERSION))


def _run(*command: str, folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
def test_a_gradle_project_resolves_and_runs_the_client(tmp_path: Path) -> None:
    _compiled(tmp_path, "build.gradle", GRADLE)
    (tmp_path / "settings.gradle").write_text("rootProject.name = 'example'\n")
    assert "acks is -2" in _run("gradle", "--no-daemon", "-q", "run", folder=tmp_path)


@pytest.mark.slow
def test_a_maven_project_resolves_and_runs_the_client(tmp_path: Path) -> None:
    if not shutil.which("mvn"):
        pytest.skip("mvn is not on PATH: apt-get install maven")
    _compiled(tmp_path, "pom.xml", MAVEN)
    local = f"-Dmaven.repo.local={tmp_path / 'local'}"  # none of this user's
    _run("mvn", "-B", "-q", local, "compile", "dependency:copy-dependencies", "-DincludeScope=runtime", folder=tmp_path)
    assert "acks is -2" in _run("java", "-cp", "target/classes:target/dependency/*", "Main", folder=tmp_path)
