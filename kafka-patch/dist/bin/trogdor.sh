#!/usr/bin/env bash
# Runs a part of Trogdor, the workload and fault generator of Apache Kafka: trogdor.sh ACTION [OPTION...]
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
usage() {
  cat << END
usage: $(basename "$0") ACTION [OPTION...]

  agent         run an agent, which executes tasks on this host
  coordinator   run the coordinator of several agents
  client        send a command to the coordinator
  agent-client  send a command to an agent
  exec          execute a task without agent and coordinator
  help          show this text
END
}
action=${1:-help}
[ $# -eq 0 ] || shift
case $action in
  agent) class=org.apache.kafka.trogdor.agent.Agent ;;
  coordinator) class=org.apache.kafka.trogdor.coordinator.Coordinator ;;
  client) class=org.apache.kafka.trogdor.coordinator.CoordinatorClient ;;
  agent-client) class=org.apache.kafka.trogdor.agent.AgentClient ;;
  exec) class=org.apache.kafka.trogdor.agent.TrogdorLocalRunner ;;
  help | --help) usage; exit 0 ;;
  *) echo "unknown action '$action'" >&2; usage >&2; exit 1 ;;
esac
export INCLUDE_TEST_JARS=1
exec "$here/kafka-run-class.sh" "$class" "$@"
