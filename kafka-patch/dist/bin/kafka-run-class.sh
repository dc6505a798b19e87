#!/usr/bin/env bash
# Runs one class of the distribution: kafka-run-class.sh [-daemon] [-name NAME] [-loggc] CLASS [ARG...]
# Environment: JAVA_HOME, CLASSPATH (put first), LOG_DIR, DAEMON_NAME, JMX_PORT, INCLUDE_TEST_JARS, KAFKA_DEBUG, JAVA_DEBUG_PORT,
# DEBUG_SUSPEND_FLAG, JAVA_DEBUG_OPTS, CONSOLE_OUTPUT_FILE, and KAFKA_ with HEAP_OPTS, JVM_PERFORMANCE_OPTS, GC_LOG_OPTS, JMX_OPTS,
# LOG4J_OPTS, OPTS.
set -euo pipefail

home=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd -P)
daemon='' name=${DAEMON_NAME:-} gc=${KAFKA_GC_LOG_OPTS:-}
logs=${LOG_DIR:-$home/logs}
while [ $# -gt 0 ]; do
  case $1 in
    -daemon) daemon=1; shift ;;
    -name) name=${2:-}; shift $(($# > 1 ? 2 : 1)) ;;
    -loggc) gc=${gc:-on}; shift ;;
    *) break ;;
  esac
done
if [ $# -eq 0 ]; then
  echo "usage: $(basename "$0") [-daemon] [-name NAME] [-loggc] CLASS [ARG...]" >&2
  exit 1
fi

if [ -n "${JAVA_HOME:-}" ]; then java=$JAVA_HOME/bin/java; else java=$(command -v java || true); fi
if [ ! -x "${java:-}" ]; then
  echo "no java: JAVA_HOME is '${JAVA_HOME:-}' and PATH has none. Install a JDK 17 or later, or set JAVA_HOME." >&2
  exit 4
fi

# Every jar by name and in one order: a wildcard has neither, and a class data archive needs both. The exporter is an agent;
# connect-file is a plugin, for plugin.path, as it is in Apache Kafka.
path=${CLASSPATH:-}
for jar in "$home"/libs/*.jar; do
  case ${INCLUDE_TEST_JARS:+test}$jar in
    *jmx_prometheus_javaagent*) continue ;;
    test*) ;;
    *-test.jar | *-test-sources.jar | */connect-file-*.jar) continue ;;
  esac
  path=${path:+$path:}$jar
done

# words VARIABLE TEXT: the words of the text as an array.
words() { read -r -d '' -a "$1" <<< "$2" || true; }

words heap "${KAFKA_HEAP_OPTS:--Xmx256M}"
words performance "${KAFKA_JVM_PERFORMANCE_OPTS:--server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35 -XX:+ExplicitGCInvokesConcurrent -Djava.awt.headless=true}"
words jmx "${KAFKA_JMX_OPTS:--Dcom.sun.management.jmxremote=true -Dcom.sun.management.jmxremote.authenticate=false -Dcom.sun.management.jmxremote.ssl=false}"
if [ -n "${JMX_PORT:-}" ]; then
  jmx+=("-Dcom.sun.management.jmxremote.port=$JMX_PORT")
  case " ${jmx[*]}" in *" -Dcom.sun.management.jmxremote.rmi.port="*) ;; *) jmx+=("-Dcom.sun.management.jmxremote.rmi.port=$JMX_PORT") ;; esac
fi
case ${KAFKA_LOG4J_OPTS:-} in
  '') log4j=("-Dlog4j2.configurationFile=$home/config/tools-log4j2.yaml") ;;
  *-Dlog4j.configuration=*)
    echo "KAFKA_LOG4J_OPTS names a file of Log4j 1: it is read in compatibility mode; the form of Log4j 2 is -Dlog4j2.configurationFile=FILE" >&2
    words log4j "$KAFKA_LOG4J_OPTS -Dlog4j1.compatibility=true"
    ;;
  *) words log4j "$KAFKA_LOG4J_OPTS" ;;
esac
words more "${KAFKA_OPTS:-}"
if [ -n "${KAFKA_DEBUG:-}" ]; then
  words debug "${JAVA_DEBUG_OPTS:--agentlib:jdwp=transport=dt_socket,server=y,suspend=${DEBUG_SUSPEND_FLAG:-n},address=127.0.0.1:${JAVA_DEBUG_PORT:-5005}}"
  more=("${debug[@]}" ${more[@]+"${more[@]}"})
fi
if [ -n "$daemon" ] || [ -n "$gc" ]; then mkdir -p "$logs"; fi
if [ "$gc" = on ]; then gc="-Xlog:gc*:file=$logs/${name:-kafka}-gc.log:time,tags:filecount=10,filesize=100M"; fi
collections=()
if [ -n "${KAFKA_GC_LOG_OPTS:-}" ]; then words collections "$gc"; elif [ -n "$gc" ]; then collections=("$gc"); fi

command=("$java" "${heap[@]}" "${performance[@]}" ${collections[@]+"${collections[@]}"} "${jmx[@]}"
  "-Dkafka.logs.dir=$logs" "${log4j[@]}" ${more[@]+"${more[@]}"} -cp "$path" "$@")
if [ -n "$daemon" ]; then
  nohup "${command[@]}" > "${CONSOLE_OUTPUT_FILE:-$logs/${name:-kafka}.out}" 2>&1 < /dev/null &
else
  exec "${command[@]}"
fi
